CREATE OR REPLACE FUNCTION allocation_within(lower_amounts integer[], upper_amounts integer[])
    RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF (cardinality(lower_amounts) = cardinality(upper_amounts)) IS NOT TRUE THEN
        RETURN false;
    END IF;
    FOR j IN 1 .. cardinality(lower_amounts) LOOP
        IF (lower_amounts[j] <= upper_amounts[j]) IS NOT TRUE THEN
            RETURN false;
        END IF;
    END LOOP;
    RETURN true;
END $$;
COMMENT ON FUNCTION allocation_within IS
    'every entry of the first is at most that of the second; <= on arrays is lexicographic';

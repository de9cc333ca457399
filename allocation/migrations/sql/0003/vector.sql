CREATE OR REPLACE FUNCTION allocation_vector(bank_id bigint, amounts jsonb) RETURNS integer[]
    LANGUAGE plpgsql STABLE AS $$
DECLARE
    unknown jsonb := amounts;
    vector integer[] := '{}';
    class varchar;
BEGIN
    FOR class IN
        SELECT key FROM allocation_resourceclass WHERE pool_id = bank_id ORDER BY ordinal
    LOOP
        vector := vector || coalesce((amounts ->> class)::integer, 0);
        unknown := unknown - class;
    END LOOP;
    RETURN CASE WHEN unknown = '{}' THEN vector END;
END $$;
COMMENT ON FUNCTION allocation_vector IS
    'amounts by key in the order of the classes; null if a key is unknown';

CREATE OR REPLACE FUNCTION allocation_write_release(
    bank allocation_pool, holder allocation_process, given integer[], event_kind text, why text,
    released_id uuid, ends_shift boolean, OUT free integer[], OUT held integer[]
) LANGUAGE plpgsql AS $$
DECLARE
    one record;
    part integer[];
    missing integer[] := given;
BEGIN
    free := bank.available;
    held := holder.allocated;
    FOR j IN 1 .. cardinality(given) LOOP
        free[j] := free[j] + given[j];
        held[j] := held[j] - given[j];
    END LOOP;
    UPDATE allocation_pool
       SET available = free, version = bank.version + 1, updated_at = clock_timestamp()
     WHERE id = bank.id;
    -- Most often all comes back at once, and out of one grant.
    UPDATE allocation_grant
       SET remaining = array_fill(0, ARRAY[cardinality(given)]), released_at = clock_timestamp(),
           release_reason = left(why, 200)
     WHERE process_id = holder.id AND released_at IS NULL AND remaining = given
       AND given = holder.allocated;
    IF FOUND THEN
        missing := array_fill(0, ARRAY[cardinality(given)]);
    END IF;
    FOR one IN
        SELECT id, remaining FROM allocation_grant
         WHERE 0 < ANY (missing) AND process_id = holder.id AND released_at IS NULL ORDER BY id DESC
    LOOP
        part := one.remaining;
        FOR j IN 1 .. cardinality(part) LOOP
            part[j] := greatest(one.remaining[j] - missing[j], 0);
            missing[j] := missing[j] - one.remaining[j] + part[j];
        END LOOP;
        CONTINUE WHEN part = one.remaining;
        UPDATE allocation_grant
           SET remaining = part,
               released_at = CASE WHEN 0 < ANY (part) THEN NULL ELSE clock_timestamp() END,
               release_reason = CASE WHEN 0 < ANY (part) THEN '' ELSE left(why, 200) END
         WHERE id = one.id;
    END LOOP;
    IF 0 < ANY (missing) THEN
        RAISE EXCEPTION 'process % holds more than it was granted', holder.id
            USING ERRCODE = 'integrity_constraint_violation', DETAIL = (
                SELECT json_object_agg(class.key, missing[class.ordinal + 1])
                  FROM allocation_resourceclass AS class
                 WHERE class.pool_id = bank.id AND missing[class.ordinal + 1] > 0);
    END IF;

    IF released_id IS NOT NULL THEN
        INSERT INTO allocation_release (id, process_id, epoch, amounts, reason)
        VALUES (released_id, holder.id, holder.epoch, given, left(why, 200));
    END IF;
    UPDATE allocation_process
       SET allocated = held,
           lease_until = CASE WHEN NOT ends_shift THEN lease_until END,
           worker = CASE WHEN ends_shift THEN '' ELSE worker END,
           kept_until = CASE WHEN 0 < ANY (held) THEN kept_until END
     WHERE id = holder.id;
    INSERT INTO allocation_event
        (pool_id, version, kind, process_id, epoch, amounts, available_before, available_after,
         verdict, reason, sequence)
    VALUES (bank.id, bank.version + 1, event_kind, holder.id, holder.epoch, given, bank.available,
            free, '', why, '{}');
END $$;
COMMENT ON FUNCTION allocation_write_release IS
    'every row of units that come back, out of the newest grants first; rows as they are before it; free, held: after it';

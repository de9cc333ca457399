CREATE OR REPLACE FUNCTION allocation_release(
    patience text, holder_id bigint, holder_epoch bigint, released_id uuid, amounts jsonb, why text,
    OUT keys text[], OUT given integer[]
) LANGUAGE plpgsql SET plan_cache_mode TO force_generic_plan AS $$
DECLARE
    bank allocation_pool := allocation_locked(patience, holder_id);
    holder allocation_process;
    one record;
    part integer[];
    missing integer[];
    free integer[];
    held integer[];
BEGIN
    SELECT * INTO holder FROM allocation_process AS process
     WHERE process.id = holder_id AND bank.id IS NOT NULL AND process.epoch = holder_epoch
       AND (process.lease_until IS NOT NULL OR process.kept_until IS NOT NULL)
       AND NOT EXISTS (SELECT FROM allocation_release AS earlier WHERE earlier.id = released_id);
    missing := CASE WHEN amounts IS NULL THEN holder.allocated
                    ELSE allocation_vector(bank.id, amounts) END;
    IF allocation_within(missing, holder.allocated) IS NOT TRUE THEN
        RETURN;
    END IF;

    given := missing;
    free := bank.available;
    held := holder.allocated;
    FOR j IN 1 .. cardinality(given) LOOP
        free[j] := free[j] + given[j];
        held[j] := held[j] - given[j];
    END LOOP;
    -- Most often all comes back at once, and out of one grant.
    UPDATE allocation_grant
       SET remaining = array_fill(0, ARRAY[cardinality(given)]), released_at = clock_timestamp(),
           release_reason = left(why, 200)
     WHERE process_id = holder_id AND released_at IS NULL AND remaining = given
       AND given = holder.allocated;
    IF FOUND THEN
        missing := array_fill(0, ARRAY[cardinality(given)]);
    END IF;
    FOR one IN
        SELECT id, remaining FROM allocation_grant
         WHERE 0 < ANY (missing) AND process_id = holder_id AND released_at IS NULL ORDER BY id DESC
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
        RAISE EXCEPTION 'process % holds more than it was granted', holder_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;

    INSERT INTO allocation_release (id, process_id, epoch, amounts, reason)
    VALUES (released_id, holder_id, holder_epoch, given, left(why, 200));
    UPDATE allocation_process
       SET allocated = held,
           lease_until = CASE WHEN amounts IS NOT NULL THEN lease_until END,
           worker = CASE WHEN amounts IS NOT NULL THEN worker ELSE '' END,
           kept_until = CASE WHEN 0 < ANY (held) THEN kept_until END
     WHERE id = holder_id;
    INSERT INTO allocation_event
        (pool_id, version, kind, process_id, epoch, amounts, available_before, available_after,
         verdict, reason, sequence)
    VALUES (bank.id, bank.version + 1, 'released', holder_id, holder_epoch, given, bank.available,
            free, '', why, '{}');
    UPDATE allocation_pool
       SET available = free, version = bank.version + 1, updated_at = clock_timestamp()
     WHERE id = bank.id;
    keys := ARRAY(SELECT class.key FROM allocation_resourceclass AS class
                   WHERE class.pool_id = bank.id ORDER BY class.ordinal);
END $$;
COMMENT ON FUNCTION allocation_release IS
    'take units back while nobody waits for any; null if the services must decide';

CREATE OR REPLACE FUNCTION allocation_grant(
    patience text, asker_id bigint, amounts jsonb, asked_id uuid, asked_kind text,
    asked_epoch bigint, deadline_seconds double precision, pickup_seconds double precision,
    proof bigint[], OUT grant_id bigint, OUT shift bigint
) LANGUAGE plpgsql SET plan_cache_mode TO force_generic_plan AS $$
DECLARE
    bank allocation_pool := allocation_locked(patience, asker_id);
    asker allocation_process;
    wanted integer[];
    free integer[];
    held integer[];
    is_start boolean := asked_kind = 'start';
    is_possible boolean;
    is_enough boolean;
BEGIN
    SELECT * INTO asker FROM allocation_process AS process
     WHERE process.id = asker_id AND bank.id IS NOT NULL AND process.state = 'active'
       AND NOT EXISTS (SELECT FROM allocation_request AS earlier WHERE earlier.id = asked_id);
    IF asker.id IS NULL
       OR is_start AND (asker.holding OR asker.lease_until IS NOT NULL)
       OR NOT is_start
          AND (asked_epoch IS DISTINCT FROM asker.epoch OR asker.lease_until IS NULL)
       OR NOT asker.holding AND 0 < ANY (bank.reserved)
    THEN
        RETURN;
    END IF;

    SELECT array_agg(units), array_agg(available - units), array_agg(allocated + units),
           bool_or(0 < units)
             AND bool_and(units <= available AND units <= most - allocated
                          AND (units = most OR NOT is_whole))
             AND count(*) FILTER (WHERE is_named) = (SELECT count(*) FROM jsonb_object_keys(amounts)),
           bool_and(most - allocated <= available)
      INTO wanted, free, held, is_possible, is_enough
      FROM (SELECT coalesce((amounts ->> class.key)::integer, 0) AS units,
                   amounts ? class.key AS is_named,
                   bank.available[class.ordinal + 1] AS available,
                   asker.allocated[class.ordinal + 1] AS allocated,
                   asker.max_claim[class.ordinal + 1] AS most,
                   is_start AND bank.policy = 'all_at_once' AS is_whole
              FROM allocation_resourceclass AS class
             WHERE class.pool_id = bank.id ORDER BY class.ordinal) AS cell;
    -- From a safe state it is enough that the asker could finish with what is free; else somebody
    -- must have searched.
    IF (is_possible AND (is_enough OR proof IS NOT NULL OR bank.policy = 'naive')) IS NOT TRUE THEN
        RETURN;
    END IF;

    shift := asker.epoch;
    IF is_start THEN
        shift := shift + 1;
        UPDATE allocation_process
           SET allocated = held, epoch = shift, worker = '', kept_until = NULL,
               lease_until = clock_timestamp() + make_interval(secs => pickup_seconds)
         WHERE id = asker_id;
        INSERT INTO allocation_outbox (kind, pool_id, process_id, epoch)
        VALUES ('start', bank.id, asker_id, shift);
    ELSE
        UPDATE allocation_process SET allocated = held WHERE id = asker_id;
    END IF;
    INSERT INTO allocation_request
        (id, pool_id, process_id, kind, amounts, state, verdict, reason, epoch, turn, bypassed,
         deadline, decided_at)
    VALUES (asked_id, bank.id, asker_id, asked_kind, wanted, 'granted', 'grant', '', shift,
            clock_timestamp()
              - make_interval(mins => CASE WHEN asker.holding THEN 0 ELSE asker.priority END), 0,
            clock_timestamp() + make_interval(secs => deadline_seconds), clock_timestamp());
    INSERT INTO allocation_grant (request_id, process_id, epoch, amounts, remaining, release_reason)
    VALUES (asked_id, asker_id, shift, wanted, wanted, '') RETURNING id INTO grant_id;
    INSERT INTO allocation_event
        (pool_id, version, kind, process_id, epoch, request_id, grant_id, amounts,
         available_before, available_after, verdict, reason, sequence)
    VALUES (bank.id, bank.version + 1, 'granted', asker_id, shift, asked_id, grant_id, wanted,
            bank.available, free, 'grant', '',
            CASE WHEN bank.policy = 'naive' THEN '{}' ELSE coalesce(proof, ARRAY[asker_id]) END);
    UPDATE allocation_pool
       SET available = free, version = bank.version + 1, updated_at = clock_timestamp()
     WHERE id = bank.id;
    PERFORM pg_notify('bank', bank.id::text);
END $$;
COMMENT ON FUNCTION allocation_grant IS
    'grant while nobody waits: what is plainly safe, or what the caller, who holds the lock, has proved; null if the services must decide';

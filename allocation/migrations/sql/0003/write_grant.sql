CREATE OR REPLACE FUNCTION allocation_write_grant(
    bank allocation_pool, asker allocation_process, asked_id uuid, asked_kind text,
    wanted integer[], proof bigint[], others_wait boolean,
    deadline_seconds double precision, pickup_seconds double precision,
    OUT grant_id bigint, OUT shift bigint, OUT free integer[], OUT held integer[]
) LANGUAGE plpgsql AS $$
DECLARE
    asked_turn timestamptz := clock_timestamp()
        - make_interval(mins => CASE WHEN asker.holding THEN 0 ELSE asker.priority END);
BEGIN
    free := bank.available;
    held := asker.allocated;
    FOR j IN 1 .. cardinality(wanted) LOOP
        free[j] := free[j] - wanted[j];
        held[j] := held[j] + wanted[j];
    END LOOP;

    -- The row that is locked comes first: whoever came here without its lock is found out now.
    UPDATE allocation_pool
       SET available = free, version = bank.version + 1, updated_at = clock_timestamp()
     WHERE id = bank.id;
    IF asked_kind = 'start' THEN
        shift := allocation_begin_shift(asker.id, held, pickup_seconds);
    ELSE
        shift := asker.epoch;
        UPDATE allocation_process SET allocated = held, is_waiting = false WHERE id = asker.id;
    END IF;
    -- A process has one waiting request at most, so that must be this one.
    IF asker.is_waiting THEN
        UPDATE allocation_request
           SET state = 'granted', verdict = 'grant', reason = '', epoch = shift,
               decided_at = clock_timestamp()
         WHERE id = asked_id RETURNING turn INTO STRICT asked_turn;
    ELSE
        INSERT INTO allocation_request
            (id, pool_id, process_id, kind, amounts, state, verdict, reason, epoch, turn, bypassed,
             deadline, decided_at)
        VALUES (asked_id, bank.id, asker.id, asked_kind, wanted, 'granted', 'grant', '', shift,
                asked_turn, 0, clock_timestamp() + make_interval(secs => deadline_seconds),
                clock_timestamp());
    END IF;
    IF others_wait THEN
        -- Beyond the limit nobody asks how often: each grant would write thousands of rows.
        UPDATE allocation_request SET bypassed = bypassed + 1
         WHERE pool_id = bank.id AND state = 'waiting' AND turn < asked_turn
           AND bypassed <= bank.bypass_limit;
    END IF;
    INSERT INTO allocation_grant (request_id, process_id, epoch, amounts, remaining, release_reason)
    VALUES (asked_id, asker.id, shift, wanted, wanted, '') RETURNING id INTO grant_id;
    INSERT INTO allocation_event
        (pool_id, version, kind, process_id, epoch, request_id, grant_id, amounts,
         available_before, available_after, verdict, reason, sequence)
    VALUES (bank.id, bank.version + 1, 'granted', asker.id, shift, asked_id, grant_id, wanted,
            bank.available, free, 'grant', '', proof);
    PERFORM pg_notify('bank', bank.id::text);
END $$;
COMMENT ON FUNCTION allocation_write_grant IS
    'every row of a grant that was decided under the lock of the pool; rows as they are before it; free, held: after it';

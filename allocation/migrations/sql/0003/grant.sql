CREATE OR REPLACE FUNCTION allocation_grant(
    patience text, asker_id bigint, amounts jsonb, asked_id uuid, asked_kind text,
    asked_epoch bigint, deadline_seconds double precision, pickup_seconds double precision,
    OUT grant_id bigint, OUT shift bigint
) LANGUAGE plpgsql SET plan_cache_mode TO force_generic_plan AS $$
DECLARE
    bank allocation_pool := allocation_locked(patience, asker_id);
    asker allocation_process;
    wanted integer[];
    is_start boolean := asked_kind = 'start';
    is_possible boolean;
    is_enough boolean;
    written record;
BEGIN
    SELECT * INTO asker FROM allocation_process AS process
     WHERE process.id = asker_id AND bank.id IS NOT NULL AND process.state = 'active'
       AND NOT EXISTS (SELECT FROM allocation_request AS earlier WHERE earlier.id = asked_id);
    IF asker.id IS NULL
       OR is_start AND (asker.holding OR asker.lease_until IS NOT NULL)
       OR NOT is_start
          AND (asked_epoch IS DISTINCT FROM asker.epoch OR asker.lease_until IS NULL)
       OR NOT asker.holding
          AND (0 < ANY (bank.reserved)
               OR EXISTS (SELECT FROM allocation_share AS share
                           WHERE share.pool_id = bank.id
                             AND (0 < ANY (share.reserved)
                                  OR share.id = asker.share_id AND 2147483647 > ANY (share.limits))))
    THEN
        RETURN;
    END IF;

    SELECT array_agg(units),
           bool_or(0 < units)
             AND bool_and(units <= available AND units <= need AND (units = most OR NOT is_whole))
             AND count(*) FILTER (WHERE is_named) = (SELECT count(*) FROM jsonb_object_keys(amounts)),
           bool_and(need <= available)
      INTO wanted, is_possible, is_enough
      FROM (SELECT coalesce((amounts ->> class.key)::integer, 0) AS units,
                   amounts ? class.key AS is_named,
                   bank.available[class.ordinal + 1] AS available,
                   asker.max_claim[class.ordinal + 1] AS most,
                   asker.max_claim[class.ordinal + 1] - asker.allocated[class.ordinal + 1] AS need,
                   is_start AND bank.policy = 'all_at_once' AS is_whole
              FROM allocation_resourceclass AS class
             WHERE class.pool_id = bank.id ORDER BY class.ordinal) AS cell;
    -- From a safe state it is enough that the asker could finish with what is free.
    IF (is_possible AND (is_enough OR bank.policy = 'naive')) IS NOT TRUE THEN
        RETURN;
    END IF;

    written := allocation_write_grant(
        bank, asker, asked_id, asked_kind, wanted,
        CASE WHEN bank.policy = 'naive' THEN '{}' ELSE ARRAY[asker_id] END, false,
        deadline_seconds, pickup_seconds
    );
    grant_id := written.grant_id;
    shift := written.shift;
END $$;
COMMENT ON FUNCTION allocation_grant IS
    'decide and write a grant that is plainly safe, while nobody waits; null if the services must decide';

CREATE OR REPLACE FUNCTION allocation_release(
    patience text, holder_id bigint, holder_epoch bigint, released_id uuid, amounts jsonb, why text,
    OUT keys text[], OUT given integer[]
) LANGUAGE plpgsql SET plan_cache_mode TO force_generic_plan AS $$
DECLARE
    bank allocation_pool := allocation_locked(patience, holder_id);
    holder allocation_process;
    wanted integer[];
BEGIN
    SELECT * INTO holder FROM allocation_process AS process
     WHERE process.id = holder_id AND bank.id IS NOT NULL AND process.epoch = holder_epoch
       AND (process.lease_until IS NOT NULL OR process.kept_until IS NOT NULL)
       AND NOT EXISTS (SELECT FROM allocation_release AS earlier WHERE earlier.id = released_id);
    wanted := CASE WHEN amounts IS NULL THEN holder.allocated
                   ELSE allocation_vector(bank.id, amounts) END;
    IF allocation_within(wanted, holder.allocated) IS NOT TRUE THEN
        RETURN;
    END IF;

    PERFORM allocation_write_release(
        bank, holder, wanted, 'released', why, released_id, amounts IS NULL
    );
    given := wanted;
    keys := ARRAY(SELECT class.key FROM allocation_resourceclass AS class
                   WHERE class.pool_id = bank.id ORDER BY class.ordinal);
END $$;
COMMENT ON FUNCTION allocation_release IS
    'take units back while nobody waits for any; null if the services must decide';

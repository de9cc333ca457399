CREATE OR REPLACE FUNCTION allocation_begin_shift(
    starter_id bigint, held integer[], pickup_seconds double precision
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    bank_id bigint;
    shift bigint;
BEGIN
    -- clock_timestamp() everywhere: now() is when the transaction began to wait for the lock.
    UPDATE allocation_process
       SET allocated = held, epoch = epoch + 1, worker = '', kept_until = NULL, is_waiting = false,
           lease_until = clock_timestamp() + make_interval(secs => pickup_seconds)
     WHERE id = starter_id RETURNING pool_id, epoch INTO bank_id, shift;
    INSERT INTO allocation_outbox (kind, pool_id, process_id, epoch)
    VALUES ('start', bank_id, starter_id, shift);
    RETURN shift;
END $$;
COMMENT ON FUNCTION allocation_begin_shift IS
    'give a process a new epoch and a lease that lasts until it is picked up, tell its owner; returns the epoch';

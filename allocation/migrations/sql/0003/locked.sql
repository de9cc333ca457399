CREATE OR REPLACE FUNCTION allocation_locked(
    patience text, process_id bigint, OUT bank allocation_pool
) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('lock_timeout', patience, true);
    -- Who comes while others wait is sent to the services; it need not queue for the lock twice.
    SELECT * INTO bank FROM allocation_pool AS pool
     WHERE pool.id = (SELECT pool_id FROM allocation_process WHERE id = process_id)
       AND NOT EXISTS (SELECT FROM allocation_request AS waits
                        WHERE waits.pool_id = pool.id AND waits.state = 'waiting')
       FOR NO KEY UPDATE;
    -- The statement above looked for waiters before it had the lock; this one looks again.
    IF bank.id IS NULL OR NOT bank.is_safe
       OR current_setting('transaction_isolation') <> 'read committed'
       OR EXISTS (SELECT FROM allocation_request AS waits
                   WHERE waits.pool_id = bank.id AND waits.state = 'waiting')
    THEN
        bank := NULL;
    END IF;
END $$;
COMMENT ON FUNCTION allocation_locked IS
    'the pool of a process, locked; null if the services must decide';

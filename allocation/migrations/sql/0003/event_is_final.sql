CREATE OR REPLACE FUNCTION allocation_event_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the ledger is append-only: no % of allocation_event', lower(TG_OP)
        USING ERRCODE = 'integrity_constraint_violation';
END $$;
COMMENT ON FUNCTION allocation_event_is_final IS 'trigger: no event is ever changed or deleted';

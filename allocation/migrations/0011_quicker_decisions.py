"""The same decisions in fewer statements, and a grant that somebody has proved safe by a search.

Amounts are read, compared and added in one query; a shift that gives back all, out of its only grant, is one update.
"""

from importlib import import_module

from django.db import migrations

before = import_module("allocation.migrations.0010_decisions_in_one_call")

GRANT = """
CREATE FUNCTION allocation_grant(
    patience text, asker_id bigint, amounts jsonb, asked_id uuid, asked_kind text, asked_epoch bigint,
    deadline_seconds double precision, pickup_seconds double precision, proof bigint[], OUT grant_id bigint, OUT shift bigint
) LANGUAGE plpgsql AS $$
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
       OR NOT is_start AND (asked_epoch IS DISTINCT FROM asker.epoch OR asker.lease_until IS NULL)
       OR NOT asker.holding AND 0 < ANY (bank.reserved)
    THEN
        RETURN;
    END IF;

    SELECT array_agg(units), array_agg(available - units), array_agg(allocated + units),
           bool_or(0 < units) AND bool_and(units <= available AND units <= most - allocated AND (units = most OR NOT is_whole))
             AND count(*) FILTER (WHERE is_named) = (SELECT count(*) FROM jsonb_object_keys(amounts)),
           bool_and(most - allocated <= available)
      INTO wanted, free, held, is_possible, is_enough
      FROM (SELECT coalesce((amounts ->> class.key)::integer, 0) AS units, amounts ? class.key AS is_named,
                   bank.available[class.ordinal + 1] AS available, asker.allocated[class.ordinal + 1] AS allocated,
                   asker.max_claim[class.ordinal + 1] AS most, is_start AND bank.policy = 'all_at_once' AS is_whole
              FROM allocation_resourceclass AS class WHERE class.pool_id = bank.id ORDER BY class.ordinal) AS cell;
    -- From a safe state it is enough that the asker could finish with what is free; else somebody must have searched.
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
        INSERT INTO allocation_outbox (kind, pool_id, process_id, epoch) VALUES ('start', bank.id, asker_id, shift);
    ELSE
        UPDATE allocation_process SET allocated = held WHERE id = asker_id;
    END IF;
    INSERT INTO allocation_request
        (id, pool_id, process_id, kind, amounts, state, verdict, reason, epoch, turn, bypassed, deadline, decided_at)
    VALUES (asked_id, bank.id, asker_id, asked_kind, wanted, 'granted', 'grant', '', shift,
            clock_timestamp() - make_interval(mins => CASE WHEN asker.holding THEN 0 ELSE asker.priority END), 0,
            clock_timestamp() + make_interval(secs => deadline_seconds), clock_timestamp());
    INSERT INTO allocation_grant (request_id, process_id, epoch, amounts, remaining, release_reason)
    VALUES (asked_id, asker_id, shift, wanted, wanted, '') RETURNING id INTO grant_id;
    INSERT INTO allocation_event
        (pool_id, version, kind, process_id, epoch, request_id, grant_id, amounts, available_before, available_after, verdict, reason,
         sequence)
    VALUES (bank.id, bank.version + 1, 'granted', asker_id, shift, asked_id, grant_id, wanted, bank.available, free, 'grant', '',
            CASE WHEN bank.policy = 'naive' THEN '{}' ELSE coalesce(proof, ARRAY[asker_id]) END);
    UPDATE allocation_pool SET available = free, version = bank.version + 1, updated_at = clock_timestamp() WHERE id = bank.id;
    PERFORM pg_notify('bank', bank.id::text);
END $$;
COMMENT ON FUNCTION allocation_grant IS
    'grant while nobody waits: what is plainly safe, or what the caller, who holds the lock, has proved; null if the services must decide';
"""
RELEASE = """
CREATE OR REPLACE FUNCTION allocation_release(
    patience text, holder_id bigint, holder_epoch bigint, released_id uuid, amounts jsonb, why text,
    OUT keys text[], OUT given integer[]
) LANGUAGE plpgsql AS $$
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
    missing := CASE WHEN amounts IS NULL THEN holder.allocated ELSE allocation_vector(bank.id, amounts) END;
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
       SET remaining = array_fill(0, ARRAY[cardinality(given)]), released_at = clock_timestamp(), release_reason = left(why, 200)
     WHERE process_id = holder_id AND released_at IS NULL AND remaining = given AND given = holder.allocated;
    IF FOUND THEN
        missing := array_fill(0, ARRAY[cardinality(given)]);
    END IF;
    FOR one IN SELECT id, remaining FROM allocation_grant
                WHERE 0 < ANY (missing) AND process_id = holder_id AND released_at IS NULL ORDER BY id DESC LOOP
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
        RAISE EXCEPTION 'process % holds more than it was granted', holder_id USING ERRCODE = 'integrity_constraint_violation';
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
        (pool_id, version, kind, process_id, epoch, amounts, available_before, available_after, verdict, reason, sequence)
    VALUES (bank.id, bank.version + 1, 'released', holder_id, holder_epoch, given, bank.available, free, '', why, '{}');
    UPDATE allocation_pool SET available = free, version = bank.version + 1, updated_at = clock_timestamp() WHERE id = bank.id;
    keys := ARRAY(SELECT class.key FROM allocation_resourceclass AS class WHERE class.pool_id = bank.id ORDER BY class.ordinal);
END $$;
COMMENT ON FUNCTION allocation_release IS 'take units back while nobody waits for any; null if the services must decide';
"""
SIGNATURE = "text, bigint, jsonb, uuid, text, bigint, double precision, double precision"


class Migration(migrations.Migration):
    dependencies = [("allocation", "0010_decisions_in_one_call")]
    operations = [
        migrations.RunSQL(f"DROP FUNCTION allocation_grant({SIGNATURE})", before.GRANT),
        migrations.RunSQL(GRANT, f"DROP FUNCTION allocation_grant({SIGNATURE}, bigint[])"),
        migrations.RunSQL(RELEASE, before.RELEASE.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")),
    ]

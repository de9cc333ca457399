"""Grant and release in one call of the server, where that is plainly safe and nobody waits.

Each function locks the pool in one statement and reads in the next: a statement that did both would see the processes as
they were before the wait. Whatever it can't settle it leaves alone and answers null, and `allocation.services` decides.
The rows are those that `Bank` writes. References that follow from another one are no longer checked a second time.
"""

import django.db.models.deletion
from django.db import migrations, models

WITHIN = """
CREATE OR REPLACE FUNCTION allocation_within(lower_amounts integer[], upper_amounts integer[]) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF (cardinality(lower_amounts) = cardinality(upper_amounts)) IS NOT TRUE THEN
        RETURN false;
    END IF;
    FOR j IN 1 .. cardinality(lower_amounts) LOOP
        IF (lower_amounts[j] <= upper_amounts[j]) IS NOT TRUE THEN
            RETURN false;
        END IF;
    END LOOP;
    RETURN true;
END $$;
"""
WITHIN_AS_IT_WAS = """
CREATE OR REPLACE FUNCTION allocation_within(lower_amounts integer[], upper_amounts integer[]) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN cardinality(lower_amounts) = cardinality(upper_amounts)
   AND NOT EXISTS (SELECT FROM unnest(lower_amounts, upper_amounts) AS cell(lower_amount, upper_amount)
                   WHERE (lower_amount <= upper_amount) IS NOT TRUE);
"""
VECTOR = """
CREATE FUNCTION allocation_vector(bank_id bigint, amounts jsonb) RETURNS integer[] LANGUAGE plpgsql STABLE AS $$
DECLARE
    unknown jsonb := amounts;
    vector integer[] := '{}';
    class varchar;
BEGIN
    FOR class IN SELECT key FROM allocation_resourceclass WHERE pool_id = bank_id ORDER BY ordinal LOOP
        vector := vector || coalesce((amounts ->> class)::integer, 0);
        unknown := unknown - class;
    END LOOP;
    RETURN CASE WHEN unknown = '{}' THEN vector END;
END $$;
COMMENT ON FUNCTION allocation_vector IS 'amounts by key in the order of the classes; null if a key is unknown';
"""
LOCKED = """
CREATE FUNCTION allocation_locked(patience text, process_id bigint, OUT bank allocation_pool) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('lock_timeout', patience, true);
    -- Who comes while others wait will be sent on; it need not stand in line for the lock twice.
    SELECT * INTO bank FROM allocation_pool AS pool
     WHERE pool.id = (SELECT pool_id FROM allocation_process WHERE id = process_id)
       AND NOT EXISTS (SELECT FROM allocation_request AS waits WHERE waits.pool_id = pool.id AND waits.state = 'waiting')
       FOR NO KEY UPDATE;
    -- Only now can be known who waits: the statement above looked before it had the lock.
    IF bank.id IS NULL OR NOT bank.is_safe OR current_setting('transaction_isolation') <> 'read committed'
       OR EXISTS (SELECT FROM allocation_request AS waits WHERE waits.pool_id = bank.id AND waits.state = 'waiting')
    THEN
        bank := NULL;
    END IF;
END $$;
COMMENT ON FUNCTION allocation_locked IS 'the pool of a process, locked; null if the services must decide';
"""
GRANT = """
CREATE FUNCTION allocation_grant(
    patience text, asker_id bigint, amounts jsonb, asked_id uuid, asked_kind text, asked_epoch bigint,
    deadline_seconds double precision, pickup_seconds double precision, OUT grant_id bigint, OUT shift bigint
) LANGUAGE plpgsql AS $$
DECLARE
    bank allocation_pool := allocation_locked(patience, asker_id);
    asker allocation_process;
    wanted integer[];
    free integer[];
    held integer[];
    is_start boolean := asked_kind = 'start';
    is_enough boolean := true;
BEGIN
    SELECT * INTO asker FROM allocation_process AS process
     WHERE process.id = asker_id AND bank.id IS NOT NULL AND process.state = 'active'
       AND NOT EXISTS (SELECT FROM allocation_request AS earlier WHERE earlier.id = asked_id);
    wanted := allocation_vector(bank.id, amounts);
    IF (asker.id IS NOT NULL AND 0 < ANY (wanted)) IS NOT TRUE
       OR is_start AND (asker.holding OR asker.lease_until IS NOT NULL)
       OR NOT is_start AND (asked_epoch IS DISTINCT FROM asker.epoch OR asker.lease_until IS NULL)
       OR NOT asker.holding AND 0 < ANY (bank.reserved)
    THEN
        RETURN;
    END IF;

    free := bank.available;
    held := asker.allocated;
    FOR j IN 1 .. cardinality(wanted) LOOP
        IF wanted[j] > free[j] OR wanted[j] > asker.max_claim[j] - held[j]
           OR bank.policy = 'all_at_once' AND is_start AND wanted[j] < asker.max_claim[j]
        THEN
            RETURN;
        END IF;
        is_enough := is_enough AND asker.max_claim[j] - held[j] <= free[j];
        free[j] := free[j] - wanted[j];
        held[j] := held[j] + wanted[j];
    END LOOP;
    -- From a safe state it is enough that the asker could finish with what is free.
    IF NOT is_enough AND bank.policy <> 'naive' THEN
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
            CASE WHEN bank.policy = 'naive' THEN '{}' ELSE ARRAY[asker_id] END);
    UPDATE allocation_pool SET available = free, version = bank.version + 1, updated_at = clock_timestamp() WHERE id = bank.id;
    PERFORM pg_notify('bank', bank.id::text);
END $$;
COMMENT ON FUNCTION allocation_grant IS 'grant what is plainly safe while nobody waits; null if the services must decide';
"""
RELEASE = """
CREATE FUNCTION allocation_release(
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
    FOR one IN SELECT id, remaining FROM allocation_grant WHERE process_id = holder_id AND released_at IS NULL ORDER BY id DESC LOOP
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


class Migration(migrations.Migration):
    dependencies = [("allocation", "0009_kinds_of_limits")]
    operations = [
        migrations.RunSQL(WITHIN, WITHIN_AS_IT_WAS),
        migrations.RunSQL(VECTOR, "DROP FUNCTION allocation_vector"),
        migrations.RunSQL(LOCKED, "DROP FUNCTION allocation_locked"),
        migrations.RunSQL(GRANT, "DROP FUNCTION allocation_grant"),
        migrations.RunSQL(RELEASE, "DROP FUNCTION allocation_release"),
        migrations.AlterField(
            model_name="request",
            name="pool",
            field=models.ForeignKey(
                db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name="requests", to="allocation.pool"
            ),
        ),
        migrations.AlterField(
            model_name="grant",
            name="process",
            field=models.ForeignKey(
                db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name="grants", to="allocation.process"
            ),
        ),
        migrations.AlterField(
            model_name="outbox",
            name="pool",
            field=models.ForeignKey(
                db_constraint=False, on_delete=django.db.models.deletion.CASCADE, related_name="outbox", to="allocation.pool"
            ),
        ),
        migrations.AlterField(
            model_name="outbox",
            name="process",
            field=models.ForeignKey(
                db_constraint=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name="outbox", to="allocation.process"
            ),
        ),
    ]

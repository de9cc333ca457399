"""No event is ever changed or deleted. (TRUNCATE stays with the table's owner; tests empty their database with it.)"""

from django.db import migrations

FORWARD = """
CREATE FUNCTION allocation_event_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the ledger is append-only: no % of allocation_event', lower(TG_OP)
        USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER allocation_event_is_final BEFORE UPDATE OR DELETE ON allocation_event
    FOR EACH STATEMENT EXECUTE FUNCTION allocation_event_is_final();
"""
BACKWARD = """
DROP TRIGGER allocation_event_is_final ON allocation_event;
DROP FUNCTION allocation_event_is_final;
"""


class Migration(migrations.Migration):
    dependencies = [("allocation", "0002_tables")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]

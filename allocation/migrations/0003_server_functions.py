"""The functions that decide and write, the trigger that keeps the ledger, the matrices as views."""

from pathlib import Path

from django.db import migrations

COPIES = Path(__file__).parent / "sql" / "0003"
FUNCTIONS = ("vector", "locked", "begin_shift", "write_grant", "write_release", "grant", "release")
#: TRUNCATE stays with the table's owner; tests empty their database with it
TRIGGER = """
CREATE TRIGGER allocation_event_is_final BEFORE UPDATE OR DELETE ON allocation_event
    FOR EACH STATEMENT EXECUTE FUNCTION allocation_event_is_final()
"""


def create(name: str, drop: str) -> migrations.RunSQL:
    return migrations.RunSQL((COPIES / f"{name}.sql").read_text(), drop)


class Migration(migrations.Migration):
    dependencies = [("allocation", "0002_events")]
    operations = [
        *(create(name, f"DROP FUNCTION allocation_{name}") for name in FUNCTIONS),
        create("event_is_final", "DROP FUNCTION allocation_event_is_final"),
        migrations.RunSQL(TRIGGER, "DROP TRIGGER allocation_event_is_final ON allocation_event"),
        create("matrix_cell", "DROP VIEW matrix_cell"),
        create("conservation", "DROP VIEW conservation"),
    ]

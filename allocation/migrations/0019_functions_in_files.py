"""The server's functions as `allocation/sql` has them, in copies that stay as they are.

None does anything else than before: text that stood in migrations 0001, 0003, 0010, 0011 and 0015.
"""

from pathlib import Path

from django.db import migrations

COPIES = Path(__file__).parent / "sql" / "0019"
NAMES = ("event_is_final", "within", "vector", "locked", "grant", "release")
TEXTS = [(COPIES / f"{name}.sql").read_text() for name in NAMES]


class Migration(migrations.Migration):
    dependencies = [("allocation", "0018_what_a_crowd_costs")]
    operations = [migrations.RunSQL(text, migrations.RunSQL.noop) for text in TEXTS]

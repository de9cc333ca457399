"""One function writes a grant and one writes a release, whoever has decided it."""

from pathlib import Path

from django.db import migrations

COPIES = Path(__file__).parent / "sql"


def copy(path: str) -> str:
    return (COPIES / f"{path}.sql").read_text()


class Migration(migrations.Migration):
    dependencies = [("allocation", "0019_functions_in_files")]
    operations = [
        # Without the argument for a proof it is another function.
        migrations.RunSQL("DROP FUNCTION allocation_grant", copy("0019/grant")),
        migrations.RunSQL(copy("0020/begin_shift"), "DROP FUNCTION allocation_begin_shift"),
        migrations.RunSQL(copy("0020/write_grant"), "DROP FUNCTION allocation_write_grant"),
        migrations.RunSQL(copy("0020/grant"), "DROP FUNCTION allocation_grant"),
        migrations.RunSQL(copy("0020/write_release"), "DROP FUNCTION allocation_write_release"),
        migrations.RunSQL(copy("0020/release"), copy("0019/release")),
    ]

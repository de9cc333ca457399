"""Pages that were read a second time before microformats were read are read again."""

from __future__ import annotations

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def read_again(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    apps.get_model("crawling", "LinksPart").objects.filter(read_at__isnull=False).update(
        read_at=None, indexed_at=None
    )


class Migration(migrations.Migration):
    dependencies = [("crawling", "0055_runs_by_state")]

    operations = [migrations.RunPython(read_again, migrations.RunPython.noop)]

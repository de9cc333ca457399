"""A process has its claim, and no named stage of its work beside it."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("allocation", "0005_plain_names")]

    operations = [migrations.RemoveField("process", "stage")]

"""With a bucket, archive files are uploaded in parts; a row says where each part ends."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("crawling", "0016_pages_by_rendering")]

    operations = [
        migrations.AddField(
            model_name="archivefile",
            name="parts",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.BigIntegerField(),
                db_default=[],
                default=list,
                help_text="where its parts in the bucket end, in ascending order",
                size=None,
            ),
        ),
    ]

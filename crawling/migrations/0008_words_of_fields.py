"""Fields and choices say work session, as pages do; the database stays as it is."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0007_purpose_of_crawls"),
    ]

    operations = [
        migrations.AlterModelOptions(name="shift", options={"verbose_name": "work session"}),
        migrations.AlterField(
            model_name="host",
            name="answered_at",
            field=models.DateTimeField(
                help_text="when a work session that had an answer let it go; null: it never did",
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="host",
            name="delay_seconds",
            field=models.FloatField(
                db_default=0, help_text="the delay that the last work session kept"
            ),
        ),
        migrations.AlterField(
            model_name="host",
            name="rest_reason",
            field=models.CharField(
                blank=True,
                db_default="",
                help_text="the answer that made the last work session leave it alone; empty: "
                "none did",
                max_length=300,
            ),
        ),
        migrations.AlterField(
            model_name="linkspart",
            name="read_at",
            field=models.DateTimeField(
                help_text="when the indexing of its pages was stored", null=True
            ),
        ),
        migrations.AlterField(
            model_name="linkspart",
            name="shift",
            field=models.BigIntegerField(
                help_text="id of the work session that collects it; null: read from the archive",
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="runprocess",
            name="is_extra",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="whether it was added for an idle worker, and leaves when its work "
                "session ends",
            ),
        ),
        migrations.AlterField(
            model_name="shift",
            name="deciding_seconds",
            field=models.FloatField(
                db_default=0.0,
                default=0.0,
                help_text="from asking the pool to its answer, all requests of the session "
                "added up",
            ),
        ),
        migrations.AlterField(
            model_name="shift",
            name="epoch",
            field=models.BigIntegerField(
                help_text="of the pool's process; one work session an epoch"
            ),
        ),
        migrations.AlterField(
            model_name="url",
            name="backlinks",
            field=models.IntegerField(
                help_text="links to it from pages that were read, its hit count (SEEDS B6); a "
                "work session adds them up every half minute, so one that is killed loses the "
                "last",
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="url",
            name="losses",
            field=models.SmallIntegerField(
                db_default=0,
                help_text="work sessions that were lost while they had it; with any it is a "
                "suspect",
            ),
        ),
        migrations.AlterField(
            model_name="verdict",
            name="links",
            field=models.IntegerField(
                help_text="pages it was met on, as far as work sessions have told"
            ),
        ),
        migrations.AlterField(
            model_name="verdictcount",
            name="more",
            field=models.BigIntegerField(
                db_default=0,
                help_text="addresses without a row; one met by two work sessions counts twice",
            ),
        ),
        migrations.AlterField(
            model_name="withdrawalfile",
            name="length",
            field=models.BigIntegerField(
                help_text="its committed length when the pages were taken down"
            ),
        ),
    ]

from django.db import migrations, models

#: a run that was imported says so in its log; what it fetched since then is its own
MARK = """
UPDATE crawling_page p SET is_imported = true, fetched_at = least(p.fetched_at, clock_timestamp())
FROM crawling_logline l WHERE l.run_id = p.run_id
    AND l.message LIKE 'Imported by % from a checkpoint of %'
    AND (p.fetched_at <= l.at OR p.fetched_at > clock_timestamp())
"""


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0062_broken_steps"),
    ]

    operations = [
        migrations.AddField(
            model_name="page",
            name="is_imported",
            field=models.BooleanField(
                db_default=False,
                help_text="of a file that was imported: no server here was asked, so its crawl alone "
                "has it",
            ),
        ),
        migrations.RunSQL(MARK, migrations.RunSQL.noop),
    ]

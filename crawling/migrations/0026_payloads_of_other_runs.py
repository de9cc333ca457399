from django.db import migrations, models
from django.db.models import Q

IS_ELSEWHERE = Q(payload_from__isnull=False)


class Migration(migrations.Migration):
    dependencies = [("crawling", "0025_runs_by_start")]

    operations = [
        migrations.AddField(
            "page",
            "payload_from",
            models.BigIntegerField(
                null=True,
                help_text="id of the URL of another run whose page's record has the payload; 0: on "
                "another server",
            ),
        ),
        migrations.RunSQL(
            "UPDATE crawling_page SET payload_from = unchanged_since "
            "WHERE unchanged_since IS NOT NULL AND is_revisit",
            migrations.RunSQL.noop,
        ),
        migrations.RemoveIndex("page", "pages_unchanged_since"),
        migrations.AddIndex(
            "page",
            models.Index(
                fields=["run", "payload_from"],
                condition=IS_ELSEWHERE,
                name="payloads_of_other_runs",
            ),
        ),
        migrations.AddIndex(
            "page",
            models.Index(
                fields=["payload_from"], condition=IS_ELSEWHERE, name="payloads_for_other_runs"
            ),
        ),
        migrations.RemoveIndex("page", "archived_payloads"),
        migrations.AddIndex(
            "page",
            models.Index(
                fields=["fingerprint", "run"],
                condition=Q(is_revisit=False, archive_file__isnull=False, status__lt=400),
                name="archived_payloads",
            ),
        ),
        migrations.AddField("runtotal", "saved_bytes", models.BigIntegerField(db_default=0)),
        migrations.AddField(
            "runcount",
            "saved_bytes",
            models.BigIntegerField(
                db_default=0, help_text="of archive files, by payloads that were stored before"
            ),
        ),
    ]

from django.db import migrations

#: Rows of withdrawn pages are kept as they were, and put back so: they need the column that pages
#: have since 0063, as that migration has filled it.
MARK = """
UPDATE crawling_withdrawnpage w SET content = jsonb_set(w.content, '{page,is_imported}',
    to_jsonb(EXISTS (
        SELECT FROM crawling_logline l WHERE l.run_id = w.run_id
            AND l.message LIKE 'Imported by % from a checkpoint of %'
            AND ((w.content -> 'page' ->> 'fetched_at')::timestamptz <= l.at
                OR (w.content -> 'page' ->> 'fetched_at')::timestamptz > clock_timestamp())
    )))
WHERE w.content IS NOT NULL AND NOT w.content -> 'page' ? 'is_imported'
"""


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0074_cancelled_experiments"),
    ]

    operations = [
        migrations.RunSQL(MARK, migrations.RunSQL.noop),
    ]

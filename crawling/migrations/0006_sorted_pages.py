"""Indexes by which the pages of a run are listed by status, by size and by kind."""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models

#: as `crawling.dashboard.pages.page_kinds` asks for it
KIND = """CASE
WHEN content_type IN ('text/html', 'application/xhtml+xml') THEN 'html'
WHEN content_type = 'application/pdf' THEN 'pdf'
WHEN starts_with(content_type, 'image/') THEN 'image'
WHEN content_type = 'text/css' THEN 'style'
WHEN content_type IN ('text/javascript', 'application/javascript', 'application/x-javascript',
    'application/ecmascript', 'text/ecmascript') THEN 'script'
WHEN content_type IN ('application/json', 'application/ld+json', 'application/feed+json',
    'application/xml', 'text/xml', 'application/rss+xml', 'application/atom+xml',
    'application/rdf+xml', 'text/csv', 'text/tab-separated-values') THEN 'data'
WHEN starts_with(content_type, 'text/') THEN 'text'
WHEN starts_with(content_type, 'audio/') OR starts_with(content_type, 'video/')
    OR starts_with(content_type, 'font/') THEN 'media'
ELSE 'other' END"""


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("crawling", "0005_jobs_and_plans")]

    operations = [
        AddIndexConcurrently(
            model_name="page",
            index=models.Index(
                fields=["run", "status", "fetched_at", "url"], name="pages_by_status"
            ),
        ),
        RemoveIndexConcurrently(model_name="page", name="error_pages_in_time"),
        AddIndexConcurrently(
            model_name="page",
            index=models.Index(fields=["run", "bytes", "url"], name="pages_by_size"),
        ),
        migrations.RunSQL(
            f"CREATE INDEX CONCURRENTLY pages_by_kind ON crawling_page "
            f"(run_id, ({KIND}), fetched_at, url_id)",
            "DROP INDEX CONCURRENTLY pages_by_kind",
        ),
    ]

from django.db import migrations
from django.db.models import QuerySet

from crawling.orders.sections.fetching import OPEN_HEADERS
from crawling.web.addresses import canonical_address
from crawling.web.secret_headers import origins_of


def bind(apps, schema_editor):
    """Secrets that are stored already go to the present seeds' origins, and log-in fields to that
    of the log-in page.
    """
    crawls: QuerySet = apps.get_model("crawling", "CrawlJob").objects
    for crawl in crawls.filter(fetching__has_key="sealed").iterator(chunk_size=100):
        asks = crawl.fetching
        headers = [name for name in asks.get("headers", ()) if name.lower() not in OPEN_HEADERS]
        of_seeds = {"headers": headers, "credentials": list(asks.get("credentials", ()))}
        of_login = {"login_fields": list(asks.get("login_fields", ()))}
        url = asks.get("login_url")
        recipients = [
            {"origins": sorted(origins_of(map(canonical_address, urls))), "secrets": secrets}
            for urls, secrets in ((crawl.seeds, of_seeds), ([url] if url else [], of_login))
            if any(secrets.values())
        ]
        if recipients:
            crawls.filter(pk=crawl.pk).update(fetching={**asks, "recipients": recipients})


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0067_further_records"),
    ]

    operations = [
        migrations.RunPython(bind, migrations.RunPython.noop, elidable=True),
    ]

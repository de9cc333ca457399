"""A possible secret lies in no table in clear."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import override_settings

from crawling.base.encrypted_text import SealBroken
from crawling.models import CrawlJob
from crawling.runs.crawls.creation import clone_crawl, create_crawl
from crawling.runs.crawls.fetching_section import fetching_of, fields_without_secrets
from crawling.runs.crawls.revisions import edit_crawl
from crawling.runs.crawls.templates import save_template
from crawling.runs.start import start_run
from crawling.uses.alerts.delivery import send_due_deliveries
from crawling.uses.alerts.models import Delivery, Listener
from crawling.web.secret_headers import MASK

SEED = "http://127.0.0.1:8900/login"
BODY = "token=s3cr3t-of-the-body"


@pytest.fixture
def crawl(order) -> CrawlJob:
    return create_crawl(order(SEED, posts={SEED: BODY}))


def everything_kept() -> str:
    """All rows of all tables, as a back-up has them."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        tables = [name for (name,) in cursor.fetchall()]
        rows = []
        for table in tables:
            cursor.execute(f'SELECT t::text FROM "{table}" t')
            rows += [row for (row,) in cursor.fetchall()]
    return "\n".join(rows)


def test_what_is_posted_is_kept_sealed(crawl):
    save_template(crawl, "posting")
    edit_crawl(clone_crawl(crawl), {"headers": {"X-Key": BODY}})
    start_run(crawl)

    assert fetching_of(CrawlJob.objects.get(pk=crawl.pk)).posts == {SEED: BODY}
    assert fields_without_secrets(crawl)["posts"] == {SEED: MASK}
    assert BODY not in everything_kept()


def test_the_secret_that_signs_webhooks_is_kept_sealed(db):
    listener = Listener.objects.create(name="Chat", url="http://a/", secret=BODY, events=["failed"])

    listener.refresh_from_db()

    assert listener.secret == BODY
    assert BODY not in everything_kept()


def test_a_webhook_whose_secret_cannot_be_read_is_told_in_the_outcome(make_site, crawl):
    site = make_site({"/hook": (204, {}, "")})
    url = f"{site.url}/hook"
    Listener.objects.create(name="Chat", url=url, secret="s", events=["started"])
    start_run(crawl)

    with override_settings(SECRET_KEY="another"):
        send_due_deliveries()

    assert Delivery.objects.get().outcome.startswith(f"Not sent: {SealBroken()}")
    assert not site.log

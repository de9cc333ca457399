"""Why a host waits for its name, and what a run's accesses would have cost under other caches."""

import pytest
from django.urls import reverse

from crawling.accesses import why_waits
from dnscache.ahead.beat import rest
from tests.crawling.frontiers import Frontier
from tests.crawling.pages import browser, soup
from tests.crawling.test_gate import broken, live, settle

pytestmark = pytest.mark.django_db


def test_a_host_is_told_what_it_waits_for():
    frontier = Frontier()
    frontier.sow("new.test/1", "first.test/1", "rests.test/1", "good.test/1")
    live()
    broken("rests.test", fails=2)
    settle("good.test")
    answers = {name: why_waits(name).sentences for name in ("new.test", "rests.test", "good.test", "127.0.0.1")}

    assert answers["new.test"][0] == "Nobody has asked for its name yet."
    assert "come before it" in answers["new.test"][1]
    assert "rests after 2 look-ups" in answers["rests.test"][0]
    assert "given up after 3 more" in answers["rests.test"][1]
    assert "passes the gate" in answers["good.test"][0]
    assert "Nobody asks DNS" in answers["127.0.0.1"][0]
    assert frontier.run.crawl.name in soup(browser("viewer").get(reverse("names:why"), {"host": "New.test"})).main.get_text()

    rest("m")
    assert "The gate is open" in why_waits("new.test").sentences[0]


def test_a_run_is_replayed_under_every_policy(crawl_to_the_end, dns_server, make_site, identified):
    site = make_site({"/": '<a href="/b">b</a>', "/b": "b"})
    dns_server.hosts["a.test"] = ["127.0.0.1"]
    run = crawl_to_the_end(site.url.replace("127.0.0.1", "a.test") + "/")

    page = soup(browser("viewer").get(reverse("names:replay"), {"run": run.pk}))

    assert [cell.get_text() for cell in page.select("tbody th")] == ["LRU without TTL", "LRU with TTL", "patent, literally", "ours"]
    assert "2 accesses to 1 names" in page.main.get_text()

"""Why a host waits for its name, and what a run's accesses would have cost under other caches."""

import pytest
from django.urls import reverse

from crawling.dashboard.hosts.name_wait import why_waits
from crawling.models import Run
from dnscache.preresolver.preresolver import end_heartbeat
from dnscache.protocol.answers import DnsStatus, Reply
from tests.crawling.fetching.preresolver.test_gate import broken, live, settle
from tests.crawling.frontiers import Frontier
from tests.crawling.pages import browser, soup

pytestmark = pytest.mark.django_db


def test_a_host_is_told_what_it_waits_for(settings):
    frontier = Frontier()
    frontier.sow("new.test:8080/1", "first.test/1", "rests.test/1", "good.test/1")
    live()
    broken("rests.test", fails=2)
    broken("dead.test", fails=5)
    settle("good.test")
    settle("none.test", reply=Reply(DnsStatus.NXDOMAIN))
    settle("old.test", lives=-1, age=9, retry_in=20, fails=1)
    asked = (
        "new.test",
        "rests.test",
        "good.test",
        "dead.test",
        "none.test",
        "old.test",
        "127.0.0.1",
    )
    answers = {name: why_waits(name).sentences for name in asked}

    assert answers["new.test"][0] == "Its name has not been looked up yet."
    assert answers["new.test"][1] == "1 name comes before it in the lanes."
    assert "waits after 2 look-ups" in answers["rests.test"][0]
    assert "given up after 3 more" in answers["rests.test"][1]
    assert "passes the gate" in answers["good.test"][0]
    assert "5 look-ups in a row failed" in answers["dead.test"][0]
    assert "has no address (no such name)" in answers["none.test"][0]
    assert "addresses have expired" in answers["old.test"][0]
    assert "No DNS look-up is needed" in answers["127.0.0.1"][0]
    page = soup(browser("viewer").get(reverse("names:why"), {"host": "New.test"})).main.get_text()
    assert f"{frontier.run.crawl.name} from new.test:8080" in page

    end_heartbeat("m")
    assert "The gate is open" in why_waits("new.test").sentences[0]
    settings.DNS_AHEAD = "ungated"
    assert "There is no gate" in why_waits("new.test").sentences[0]


def test_a_crawls_hosts_say_that_they_wait_for_their_names():
    frontier = Frontier()
    frontier.sow("new.test/1", "good.test/1")
    Run.objects.filter(pk=frontier.run.pk).update(state="running")
    settle("good.test")
    viewer = browser("viewer")
    live()

    rows = soup(viewer.get(reverse("crawling:hosts", args=[frontier.run.crawl_id]))).select(
        "tbody tr"
    )

    assert {row.th.get_text(): row.select("td")[2].get_text(strip=True) for row in rows} == {
        "new.test": "waiting for DNS",
        "good.test": "due",
    }

"""The guided start on the overview, and crawls that say they are examples."""

from __future__ import annotations

import pytest
from django.urls import reverse

from crawling.crawls.creation import create_crawl, start_run
from crawling.installation import set_identity
from crawling.models import RunTotal
from tests.crawling.conftest import loopback, order, pool  # noqa: F401  # fixtures
from tests.crawling.pages import browser, soup

HOME = reverse("home")


@pytest.fixture
def operator(db):
    return browser("operator")


def steps(client) -> dict[str, bool]:
    """Each step that the overview names, and whether it is done."""
    return {
        row.strong.get_text(): row.select_one(".state") is not None
        for row in soup(client.get(HOME)).select(".first-steps li")
    }


def test_the_steps_are_ticked_off_and_go_away_by_themselves(operator, order, settings):  # noqa: F811
    settings.DEMO, settings.DEMO_PORT = True, 8901
    start_run(create_crawl(order("http://127.0.0.1:8901/library/", name="Demo")))
    at_first = steps(operator)
    set_identity("crawlsite", "https://crawls.example.org/")
    run = start_run(create_crawl(order("http://127.0.0.1:8900/", name="Mine")))
    later = steps(operator)
    RunTotal.objects.filter(run=run).update(fetched=1)

    assert at_first == {"Say who you are": False, "Create a crawl": False} | {
        "Look at the result": False
    }
    assert (later["Say who you are"], later["Create a crawl"]) == (True, True)
    assert steps(operator) == {}


def test_whoever_hides_the_steps_sees_them_no_more_until_they_are_wanted(operator):
    assert steps(operator)
    operator.post(reverse("look"), {"hides_first_steps": "1", "next": HOME})
    assert steps(operator) == {}
    usual = {"theme": "auto", "density": "comfortable", "rows": "0", "refresh_seconds": "2"}
    operator.post(reverse("preferences"), usual | {"time_zone": "UTC", "first_steps": "on"})
    assert steps(operator)


def test_whoever_cannot_create_crawls_sees_no_steps(db):
    assert steps(browser("viewer")) == {}


def test_an_example_says_that_it_is_one_and_another_crawl_does_not(operator, order, settings):  # noqa: F811
    settings.DEMO, settings.DEMO_PORT = True, 8901
    example = create_crawl(order("http://127.0.0.1:8901/library/", name="Demo"))
    own = create_crawl(order("http://127.0.0.1:8900/", name="Mine"))

    told = [
        "made-up site on this machine" in operator.get(address).content.decode()
        for address in (reverse("crawling:crawl", args=[crawl.pk]) for crawl in (example, own))
    ]
    rows = soup(operator.get(reverse("crawling:crawls"))).select("tbody tr")

    assert told == [True, False]
    assert {row.a.get_text(): row.select_one("small.tag") is not None for row in rows} == {
        "Demo": True,
        "Mine": False,
    }

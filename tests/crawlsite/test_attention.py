"""The bell of every page and its list: what needs attention, in the words of the overview."""

from __future__ import annotations

import pytest
from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone

from allocation.models import Pool
from crawling.crawls.creation import create_crawl, start_run
from crawling.models import Run
from crawling.models.jobs import RunState
from crawlsite import attention
from crawlsite.health.probes import ComponentHealth
from tests.crawling.conftest import loopback, order, pool  # noqa: F401  # fixtures
from tests.crawling.pages import browser, soup

LIST, COUNT = reverse("attention"), reverse("attention-count")


@pytest.fixture
def viewer(db, monkeypatch):
    cache.delete(attention.KEPT)
    monkeypatch.setattr(attention, "parts", lambda: [ComponentHealth("Workers", True, "2")])
    return browser("viewer")


@pytest.fixture
def failed(order):  # noqa: F811
    run = start_run(create_crawl(order("http://127.0.0.1:8900/", name="Library")))
    Run.objects.update(state=RunState.FAILED, finished_at=timezone.now(), reason="All failed.")
    return run


def test_whatever_fails_is_counted_and_listed_with_a_way_there(viewer, failed, pool):  # noqa: F811
    Pool.objects.update(is_safe=False)

    rows = soup(viewer.get(LIST)).select("tbody tr")

    assert [row.a["href"] for row in rows] == [
        pool.get_absolute_url(),
        reverse("crawling:crawl", args=[failed.crawl_id]),
    ]
    assert "All failed." in rows[1].get_text()
    assert viewer.get(COUNT).json() == {"count": 2}


def test_a_part_that_does_not_answer_is_listed_too(viewer, monkeypatch):
    monkeypatch.setattr(attention, "parts", lambda: [ComponentHealth("Workers", False, "none")])

    [row] = soup(viewer.get(LIST)).select("tbody tr")

    assert (row.a["href"], row.a.get_text()) == (reverse("health"), "Workers")


def test_the_count_is_kept_a_moment_for_everybody(viewer, failed):
    first = viewer.get(COUNT).json()
    Run.objects.update(state=RunState.FINISHED)

    assert viewer.get(COUNT).json() == first == {"count": 1}
    cache.delete(attention.KEPT)
    assert viewer.get(COUNT).json() == {"count": 0}
    assert soup(viewer.get(LIST)).select_one(".empty")

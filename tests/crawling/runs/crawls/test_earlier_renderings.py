"""Form, JSON and command line tell the needs of an order's rendered pages alike, by earlier runs of
its start URLs.
"""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import call_command
from django.urls import reverse

from crawling.dashboard.management import command_errors
from crawling.models import Run, RunRendering, RunTotal
from crawling.orders.rendering_needs import RenderedEarlier
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.earlier_renderings import earlier_rendering_times
from crawling.runs.start import start_run
from tests.crawling.pages import browser

SEED, OTHER = "http://127.0.0.1:8900/", "http://127.0.0.1:8901/"
JSON = "application/json"


@pytest.fixture
def has_rendered(browsers, order):
    """Return a function that makes a crawl with a run that has rendered pages."""

    def make(name: str, *seeds: str, render: str, pages: int, patterns: dict) -> Run:
        crawl = create_crawl(order(*seeds, render=render) | {"name": name})
        run = start_run(crawl)
        RunRendering.objects.create(run=run, pages=pages, patterns=patterns)
        RunTotal.objects.update_or_create(run=run, defaults={"succeeded": 50, "files": 10})
        return run

    return make


def test_the_latest_run_with_a_start_url_of_the_order_counts(has_rendered):
    has_rendered("Old", SEED, OTHER, render="when_needed", pages=4, patterns={})
    has_rendered("New", SEED, render="when_needed", pages=10, patterns={"1": [8, 8]})

    assert earlier_rendering_times([SEED]) == RenderedEarlier("New", 40, 10)
    assert earlier_rendering_times([OTHER, "http://127.0.0.1:8902/"]) == RenderedEarlier(
        "Old", 40, 4
    )
    assert earlier_rendering_times(["http://127.0.0.1:8902/"]) is None


def test_of_a_run_that_rendered_all_pages_those_that_gained_count(has_rendered):
    has_rendered("All", SEED, render="always", pages=41, patterns={"1": [30, 3], "2": [10, 7]})

    assert earlier_rendering_times([SEED]) == RenderedEarlier("All", 40, 10)


def test_form_json_and_command_tell_the_same(has_rendered, order, monkeypatch):
    monkeypatch.setattr(command_errors, "live_workers", lambda: 1)
    run = has_rendered("Birds", SEED, render="when_needed", pages=10, patterns={})
    operator, out = browser("operator"), io.StringIO()
    typed = {"seeds": SEED, "render": "when_needed", "delay_seconds": 2, "max_pages": 100}

    new = operator.post(reverse("crawling:check"), {**typed, "name": "b", "preset": "normal"})
    edit = operator.post(reverse("crawling:scope-check", args=[run.crawl_id]), typed)
    fields = order(SEED, render="when_needed", max_pages=100) | {"delay_seconds": 2}
    answer = operator.post("/api/v1/drafts/check", json.dumps(fields), content_type=JSON).json()
    options = ("--render", "when_needed", "--delay", "2", "--max-pages", "100")
    call_command("crawl", SEED, *options, stdout=out)

    share = "10 of 40 pages in the latest run of Birds; 25 pages take at least"
    bound = "bound by politeness: one page at a time on 1 host with a delay of 2 s"
    for told in (
        new.json()["estimate"],
        edit.json()["estimate"],
        " ".join(answer["estimate"]),
        " ".join(one["note"] for one in answer["figures"]),
        out.getvalue(),
    ):
        assert share in told
        assert bound in told
    assert {"label": "Pages to render", "value": "25 %"}.items() <= answer["figures"][4].items()


def test_a_plain_order_is_told_nothing_of_browsers(browsers, order):
    answer = browser("operator").post(
        "/api/v1/drafts/check", json.dumps(order(SEED)), content_type=JSON
    )

    assert "ender" not in answer.content.decode()

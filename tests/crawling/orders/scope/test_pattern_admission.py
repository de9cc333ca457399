"""A URL that comes in after a rule had kept it out is judged by its pattern, as new links are."""

from __future__ import annotations

import pytest
from django.db import connection
from django.utils import timezone

from crawling.dashboard.base.crawl_views import crawl_view
from crawling.frontier import locked_run, rules_key
from crawling.frontier.admit.refusals import store_refusals
from crawling.frontier.types import Refusal
from crawling.models import TrapPattern, Verdict
from crawling.orders.scope.filters import Rule
from crawling.orders.scope.trap_gate import TrapState
from crawling.orders.scope.trap_patterns import pattern_of
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.rejudgement import rejudge_live_runs
from crawling.runs.crawls.revisions import edit_crawl
from crawling.runs.start import start_run
from crawling.web.addresses import read_address
from tests.crawling.fetching.pipeline.test_crawl_path import links

ITEM = "/item?id=7"
#: what becomes of the item, and whether it counts as held
CASES = [
    (TrapState.WATCHED, ["s"], 0),
    (TrapState.APPROVED, ["s"], 0),
    (TrapState.QUARANTINED, ["t"], 1),
    (TrapState.BANNED, [], 0),
]


@pytest.fixture
def begin(make_site, order):
    """Return a function that starts a run of two ways to an item, whose pattern has a state."""
    site = make_site({"/one": links("/a"), "/a": links("/b"), "/two": links("/b")})
    site.pages |= {"/b": links(ITEM), ITEM: "an item"}

    def begin(state, **fields):
        seeds = (f"{site.url}/one", f"{site.url}/two")
        run = start_run(create_crawl(order(*seeds, exact_order=True, **fields)))
        pattern = pattern_of(read_address(site.url + ITEM))
        TrapPattern.objects.create(
            run=run,
            key=pattern.key,
            pattern=pattern.text,
            rule="yield",
            state=state,
            found_at=timezone.now(),
        )
        return run

    return begin


def fate(run):
    """The states of the item, and how many URLs the run says are held."""
    counts = crawl_view(run.crawl).counts
    states = run.urls.filter(url__endswith=ITEM).values_list("state", flat=True)
    assert counts.discovered == run.urls.count()
    return list(states), counts.quarantined


@pytest.mark.parametrize(("state", "states", "held"), CASES)
def test_what_was_too_deep(begin, work_off, state, states, held):
    run = work_off(begin(state, order="depth_first", max_depth=2))

    assert fate(run) == (states, held)


@pytest.mark.parametrize(("state", "states", "held"), CASES)
def test_what_an_edit_lets_in(begin, work_off, state, states, held):
    run = begin(state, exclude=["item"])
    seed = run.urls.earliest("pk")
    refusal = Refusal(seed.url.replace("/one", ITEM), Rule.EXCLUDE, "item", 1, 0, seed.pk)
    with locked_run(run.pk), connection.cursor() as cursor:
        store_refusals(cursor, run.pk, [refusal], revision=rules_key(run.crawl))
    edit_crawl(run.crawl, {"exclude": []})

    assert rejudge_live_runs()

    assert Verdict.objects.count() == 0
    assert fate(work_off(run)) == (states, held)

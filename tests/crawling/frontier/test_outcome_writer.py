"""The end of a URL is written once, by the shift that has it, and the counts add up."""

from dataclasses import replace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawling.frontier.leases import claim_urls
from crawling.frontier.record import renderings
from crawling.frontier.record.renderings import stored_renderings
from crawling.frontier.types import DocumentSummary, RenderingOutcome, ServerAnswer
from crawling.models import HostQueue, Page, RunCount, Url
from crawling.orders.rendering import Rendering, RenderingCounts
from crawling.runs.shift_lifecycle import begin_shift, end_shift, lose_shift
from crawling.web.statuses import FetchStatus
from tests.crawling.frontiers import Frontier, candidates, outcome, rows

pytestmark = pytest.mark.slow

ANSWER = ServerAnswer(
    200,
    "http://a.test/1",
    "text/html",
    1234,
    -5,
    "192.0.2.1",
    0.25,
    timezone.now(),
    summary=DocumentSummary(charset="utf-8", title="Title"),
)


@pytest.fixture
def frontier(db):
    return Frontier()


def test_a_fetched_page_is_kept_with_its_links_and_counted(frontier):
    frontier.sow("a.test/1")
    (url,) = frontier.claim()

    kept = frontier.record(
        outcome(
            url,
            answer=ANSWER,
            links=candidates("a.test/2", "b.test/1", "a.test/1", depth=1, via=url.id),
        )
    )

    page = Page.objects.get()
    assert list(kept) == [url.id]
    assert (page.url_id, page.run_id, page.address) == (url.id, frontier.run.pk, "192.0.2.1")
    assert (page.status, page.title, page.bytes) == (200, "Title", 1234)
    assert frontier.urls() == ["a.test/1", "a.test/2", "b.test/1"]
    assert list(Url.objects.order_by("pk").values_list("state", "depth", "via")) == [
        ("s", 0, None),
        ("q", 1, url.id),
        ("q", 1, url.id),
    ]
    assert frontier.counts() == {
        "discovered": 3,
        "fetched": 1,
        "succeeded": 1,
        "failed": 0,
        "excluded": 0,
        "bytes": 1234,
    }
    frontier.check()


@pytest.mark.parametrize(
    ("state", "status", "count"),
    [("s", 301, "succeeded"), ("f", -4, "failed"), ("f", 404, "failed"), ("x", -8, "excluded")],
)
def test_every_end_is_kept_with_its_status_and_reason(frontier, state, status, count):
    frontier.sow("a.test/1")
    (url,) = frontier.claim()

    frontier.record(outcome(url, state, status=status, error="because"))

    row = Url.objects.get()
    assert (row.state, row.status, row.error, row.attempts) == (state, status, "because", 1)
    assert frontier.counts()[count] == 1
    frontier.check()


def test_what_may_end_better_goes_back_to_its_queue_with_its_time(frontier):
    frontier.sow("a.test/1")
    (url,) = frontier.claim()

    frontier.record(outcome(url, "q", status=503, error="busy", retry_seconds=60))

    row, queue = Url.objects.get(), HostQueue.objects.get()
    assert (row.state, row.status, row.error, row.shift_id, row.attempts) == (
        "q",
        503,
        "busy",
        None,
        1,
    )
    assert 55 < (row.due_at - timezone.now()).total_seconds() <= 60
    assert (queue.queued, queue.due_at) == (1, row.due_at)
    frontier.check()


def test_a_retry_does_not_hold_up_what_else_is_queued_on_its_host(frontier):
    frontier.sow("a.test/1", "a.test/2")
    (url,) = frontier.claim(1)

    frontier.record(outcome(url, "q", retry_seconds=60))

    assert [claimed.url for claimed in frontier.claim()] == ["http://a.test/2"]


def test_a_batch_may_hold_every_kind_of_outcome(frontier):
    frontier.sow(*(f"a.test/{number}" for number in range(4)))
    done, failed, excluded, again = frontier.claim()

    frontier.record(
        outcome(done, answer=ANSWER),
        outcome(failed, "f", status=-5),
        outcome(excluded, "x"),
        outcome(again, "q", retry_seconds=5),
    )

    assert frontier.states() == {"s": 1, "f": 1, "x": 1, "q": 1}
    frontier.check()


def test_nothing_to_record_writes_nothing(frontier):
    frontier.sow("a.test/1")
    before = rows()

    assert list(frontier.record()) == []
    assert rows() == before


@pytest.mark.parametrize("loss", ["lost", "ended", "followed by the next", "never had it"])
def test_a_stale_shift_writes_nothing_at_all(frontier, loss):
    frontier.sow("a.test/1", "a.test/2")
    urls, shift = frontier.claim(), frontier.shift
    if loss == "lost":
        lose_shift(frontier.processes[0], shift.epoch, "killed", is_dead=False)
    elif loss == "ended":
        end_shift(shift, "time is over")
    elif loss == "followed by the next":
        begin_shift(frontier.processes[0], epoch=shift.epoch + 1, worker="w")
    else:
        lose_shift(frontier.processes[0], shift.epoch, "killed", is_dead=False)
        shift = frontier.begin_shift()
        claim_urls(shift, dict.fromkeys(frontier.queues(), 100))
        shift = frontier.shift
    RunCount.objects.update(minute="2020-01-01T00:00Z")
    before = rows()

    kept = frontier.record(
        outcome(urls[0], answer=ANSWER, links=candidates("a.test/3", "new.test/")),
        outcome(urls[1], "f", status=-4),
        shift=shift,
    )

    assert list(kept) == []
    assert rows() == before
    frontier.check()


def test_of_a_batch_only_what_is_still_the_shifts_is_written(frontier):
    frontier.sow("a.test/1", "a.test/2")
    mine, taken = frontier.claim()
    Url.objects.filter(pk=taken.id).update(shift=Frontier().shift)

    kept = frontier.record(
        outcome(mine, answer=ANSWER, links=candidates("a.test/3")),
        outcome(taken, answer=ANSWER, links=candidates("a.test/4")),
    )

    assert list(kept) == [mine.id]
    assert frontier.urls() == ["a.test/1", "a.test/2", "a.test/3"]
    assert frontier.counts()["fetched"] == Page.objects.count() == 1


def test_an_outcome_is_written_once(frontier):
    frontier.sow("a.test/1")
    (url,) = frontier.claim()
    frontier.record(outcome(url, answer=ANSWER))
    before = rows()

    assert list(frontier.record(outcome(url, answer=ANSWER))) == []
    assert rows() == before


def test_urls_given_back_are_queued_untried(frontier):
    frontier.sow("a.test/1", "a.test/2", "b.test/1")
    frontier.claim()

    frontier.give_back()
    frontier.give_back()

    assert set(Url.objects.values_list("state", "attempts", "shift")) == {("q", 0, None)}
    assert len(frontier.claim()) == 3
    frontier.check()


def test_urls_given_back_are_due_at_once(frontier):
    frontier.sow("a.test/1", "a.test/2")
    first, _ = frontier.claim()
    frontier.record(outcome(first, "q", retry_seconds=1000))

    frontier.give_back()

    assert len(frontier.lease()) == 1
    assert [url.url for url in frontier.claim()] == ["http://a.test/2"]


operations = st.lists(
    st.one_of(
        st.tuples(st.just("sow"), st.lists(st.integers(0, 11), max_size=5)),
        st.tuples(st.just("claim"), st.integers(0, 3)),
        st.tuples(st.sampled_from(["s", "f", "x", "q"]), st.integers(1, 4)),
        st.tuples(st.sampled_from(["give back", "lose", "stale"]), st.none()),
    ),
    max_size=15,
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations)
def test_whatever_happens_in_whatever_order_the_counts_add_up(db, operations):
    """discovered = queued + in process + succeeded + failed + excluded, and each queue counts its
    own (`Frontier.check`).
    """
    frontier = Frontier()
    held, stale = [], []

    for name, argument in operations:
        if name == "sow":
            frontier.sow(*(f"{'ab'[number % 2]}.test/{number}" for number in argument))
        elif name == "claim":
            held += frontier.claim(argument)
        elif name == "give back":
            frontier.give_back()
            held = []
        elif name == "lose":
            lose_shift(frontier.processes[0], frontier.shift.epoch, "killed", is_dead=True)
            stale, held = [(frontier.shift, url) for url in held], []
            frontier.shift = frontier.begin_shift()
        elif name == "stale":
            assert not any(list(frontier.record(outcome(url), shift=shift)) for shift, url in stale)
        else:
            now, held = held[:argument], held[argument:]
            links = candidates(*(f"c.test/{url.id % 5}" for url in now), depth=1)
            retry = 0.0 if name == "q" else None
            frontier.record(*(outcome(url, name, links=links, retry_seconds=retry) for url in now))
        frontier.check()


def rendered(verdict, *, pattern=1, has_gained=None):
    return replace(ANSWER, rendered=RenderingOutcome(int(verdict), pattern, has_gained))


def test_a_run_remembers_what_rendering_brought_by_pattern(frontier):
    frontier.sow("a.test/1", "a.test/2", "a.test/3", "a.test/4", "a.test/5")
    urls = frontier.claim()
    answers = [
        rendered(Rendering.MOUNT, has_gained=True),
        rendered(Rendering.MOUNT, has_gained=False),
        rendered(Rendering.NOT_NEEDED, pattern=2),
        rendered(FetchStatus.RENDER_CRASHED, pattern=2),
        rendered(FetchStatus.RENDER_BUSY, pattern=2),
    ]

    for url, answer in zip(urls, answers, strict=True):
        frontier.record(outcome(url, answer=answer))

    pages = Page.objects.order_by("pk").values_list("rendering", flat=True)
    assert list(pages) == [Rendering.MOUNT, Rendering.MOUNT, Rendering.NOT_NEEDED, -52, -55]
    assert stored_renderings(frontier.run.pk) == (
        3,
        {1: RenderingCounts(2, 1)},
        {"-52": 1, "-55": 1},
    )


def test_a_run_remembers_no_more_patterns_than_it_may(frontier, monkeypatch):
    monkeypatch.setattr(renderings, "MOST_PATTERNS", 1)
    frontier.sow("a.test/1", "a.test/2")
    first, second = frontier.claim()

    frontier.record(outcome(first, answer=rendered(Rendering.ALWAYS, pattern=-7, has_gained=True)))
    frontier.record(outcome(second, answer=rendered(Rendering.ALWAYS, pattern=8, has_gained=True)))

    assert stored_renderings(frontier.run.pk) == (2, {-7: RenderingCounts(1, 1)}, {})


def test_pages_of_a_plain_crawl_say_nothing_of_rendering_and_no_statement_is_made_for_it(frontier):
    frontier.sow("a.test/1")
    (url,) = frontier.claim()

    with CaptureQueriesContext(connection) as made:
        frontier.record(outcome(url, answer=ANSWER))

    assert Page.objects.get().rendering is None
    assert not [one["sql"] for one in made if "runrendering" in one["sql"]]

"""Browser pages and their memory are asked of the pool while a shift holds the rest. Crawls that
want what others hold wait, and never lock one another.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from allocation.models import Policy, Pool, Process, Request
from allocation.selectors import bank_view
from allocation.services import add_resource_class, create_pool, set_capacity, take_lease
from crawling.fetching.pipeline.browser_budget import BrowserBudget
from crawling.fetching.shift import browser_stage
from crawling.fetching.shift.browser import ShiftBrowser
from crawling.fetching.shift.browser_stage import BrowserStage
from crawling.fetching.shift.grants import ShiftGrants
from crawling.models import RunProcess, Shift
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.shift_lifecycle import begin_shift, end_shift, settle_ended_shift
from crawling.runs.start import start_run
from experiments.pool_state import deadlocked_processes_of_pool
from tests.crawling.conftest import CLASSES, OF_BROWSERS, order_of
from tests.crawling.fetching.shift.test_fetch_threads import wait_for

SEED = "http://127.0.0.1:8900/"
MIB = 512


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(browser_stage, "LOOK_SECONDS", -1.0)


def shift_of(name: str, **fields) -> Shift:
    """A shift of a crawl that renders each page, one page at a time unless its fields say more."""
    claim = {"browsers": 1, "browser_memory": MIB, **fields.pop("claim", {})}
    order = order_of(SEED, render="always", claim=claim, **fields) | {"name": name}
    process = RunProcess.objects.get(run=start_run(create_crawl(order)))
    assert take_lease(process=process.bank_process_id, epoch=1, worker=name)
    shift = begin_shift(process, epoch=1, worker=name)
    assert shift is not None
    return shift


def held(grants: ShiftGrants) -> tuple[int, int]:
    return grants.held["browsers"], grants.held["browser_memory"]


class FetchThread:
    """A thread that wants a page for so many seconds, and has it until it is told to close it."""

    def __init__(self, budget: BrowserBudget, seconds: float = 60) -> None:
        self._budget, self._seconds, self._closes = budget, seconds, threading.Event()
        self.has_page: bool | None = None
        self._thread = threading.Thread(target=self._render)
        before = len(budget._waits)
        self._thread.start()
        wait_for(lambda: len(budget._waits) > before or self.has_page is not None)

    def _render(self) -> None:
        self.has_page = self._budget.take(self._seconds)
        if self.has_page:
            self._closes.wait(60)
            self._budget.give_back()

    def close(self) -> None:
        self._closes.set()
        self._thread.join(60)


@pytest.fixture
def render():
    """Return a function that starts a fetch thread; all are ended after the test."""
    threads: list[FetchThread] = []

    def start(stage: BrowserStage, **options) -> FetchThread:
        threads.append(FetchThread(stage.budget, **options))
        return threads[-1]

    yield start
    for thread in threads:
        thread._budget.end()
        thread.close()


def tended(stage: BrowserStage, *, others_want: bool = False) -> Callable[[], None]:
    return lambda: stage.tend(others_want=others_want)


def until(is_so: Callable[[], object], *tend: Callable[[], None]) -> None:
    """Tend stages, as a shift's own thread does, until it is so."""

    def look() -> object:
        for one in tend:
            one()
        return is_so()

    wait_for(look)


def test_a_page_and_its_memory_are_granted_together_and_given_back_when_idle(
    browsers, loopback, render, monkeypatch
):
    monkeypatch.setattr(browser_stage, "IDLE_SECONDS", -1.0)
    grants = ShiftGrants(shift_of("a", claim={"browsers": 2, "browser_memory": 2 * MIB}))
    stage = BrowserStage(grants, MIB, ShiftBrowser(0, 0))
    stage.tend(others_want=False)
    assert (held(grants), Request.objects.filter(kind="stage").count()) == ((0, 0), 0)

    first, second, third = (render(stage) for _ in range(3))
    until(lambda: stage.budget.open_pages == 2, tended(stage))
    assert held(grants) == (2, 2 * MIB)
    assert stage.in_use() == {"browsers": 2, "browser_memory": 2 * MIB}
    assert third.has_page is None, "the crawl claims two"

    first.close()
    wait_for(lambda: third.has_page)
    second.close()
    stage.tend(others_want=False)
    stage.tend(others_want=False)
    assert held(grants) == (1, MIB)
    third.close()
    stage.tend(others_want=False)
    assert held(grants) == (0, 0)


def test_a_thread_waits_for_another_crawl_and_gets_what_it_gives_back(
    browsers, loopback, render, monkeypatch
):
    monkeypatch.setattr(browser_stage, "IDLE_SECONDS", -1.0)
    one, other = (
        BrowserStage(ShiftGrants(shift_of(name)), MIB, ShiftBrowser(0, 0)) for name in "ab"
    )
    set_capacity(pool=browsers.pk, capacity={"browsers": 1})
    first = render(one)
    until(lambda: first.has_page, tended(one))

    second = render(other)
    other.tend(others_want=False)
    assert Request.objects.get(kind="stage", state="waiting").amounts[-2:] == [1, MIB]
    assert second.has_page is None

    first.close()
    until(lambda: second.has_page, tended(one), tended(other))


def test_a_wait_ends_at_its_time_and_its_request_is_withdrawn(browsers, loopback, render):
    one, other = (
        BrowserStage(ShiftGrants(shift_of(name)), MIB, ShiftBrowser(0, 0)) for name in "ab"
    )
    set_capacity(pool=browsers.pk, capacity={"browsers": 1})
    first = render(one)
    until(lambda: first.has_page, tended(one))

    second = render(other, seconds=0.3)
    other.tend(others_want=False)
    wait_for(lambda: second.has_page is False)
    other.tend(others_want=False)

    assert not Request.objects.filter(state="waiting").exists()


def test_a_request_that_waits_makes_way_for_another_stage_of_its_shift(
    browsers, loopback, render, monkeypatch
):
    one, grants = (ShiftGrants(shift_of(name)) for name in "ab")
    assert one.request_stage({"browsers": 1, "browser_memory": MIB}, 30)
    set_capacity(pool=browsers.pk, capacity={"browsers": 1})
    stage = BrowserStage(grants, MIB, ShiftBrowser(0, 0))
    render(stage)
    stage.tend(others_want=True)
    stage.tend(others_want=True)
    assert grants.has_stage, "its turn has just begun"

    monkeypatch.setattr(browser_stage, "TURN_SECONDS", -1.0)
    stage.tend(others_want=True)
    stage.tend(others_want=True)
    assert not grants.has_stage

    assert grants.request_stage({"archive_writers": 1}, 30)
    stage.tend(others_want=False)
    assert grants.has_stage, "the thread still waits for its page"


def test_no_thread_waits_beyond_the_end_of_the_shift_and_nothing_stays_held(
    browsers, loopback, render
):
    shift = shift_of("a")
    grants = ShiftGrants(shift)
    stage = BrowserStage(grants, MIB, ShiftBrowser(0, 0))
    first = render(stage)
    until(lambda: first.has_page, tended(stage))
    second = render(stage)

    stage.budget.end()
    wait_for(lambda: second.has_page is False)
    end_shift(shift, "its time is over")
    settle_ended_shift(shift.process, epoch=1, worker="a")

    browsers.refresh_from_db()
    assert browsers.available[-2:] == browsers.capacity[-2:]


def test_a_lowered_claim_takes_no_open_page_away(browsers, loopback, render):
    grants = ShiftGrants(shift_of("a", claim={"browsers": 2, "browser_memory": 2 * MIB}))
    stage = BrowserStage(grants, MIB, ShiftBrowser(0, 0))
    first, second = render(stage), render(stage)
    until(lambda: first.has_page and second.has_page, tended(stage))
    lowered = {**grants.claim, "browsers": 1, "browser_memory": MIB}

    grants.obey(lowered, 1)
    stage.tend(others_want=False)
    assert held(grants) == (2, 2 * MIB)

    first.close()
    stage.tend(others_want=False)
    grants.reread()
    grants.obey(lowered, 1)
    assert held(grants) == (1, MIB)
    assert Process.objects.get().max_claim[-2:] == [1, MIB]


@pytest.mark.parametrize("policy", [Policy.NAIVE, Policy.BANKER])
def test_two_crawls_that_hold_one_kind_each_and_want_the_other_lock_without_the_safety_check_only(
    loopback, policy
):
    units = {"browsers": 1, "browser_memory": MIB}
    pool = create_pool(name="default", classes=CLASSES, policy=policy)
    for new in OF_BROWSERS:
        add_resource_class(pool=pool.pk, new=new)
    set_capacity(pool=pool.pk, capacity=units)
    pages, memory = (ShiftGrants(shift_of(name)) for name in "ab")

    assert pages.request_stage({"browsers": 1}, 30)
    has_memory = memory.request_stage({"browser_memory": MIB}, 30)
    is_whole = pages.request_stage({"browser_memory": MIB}, 30)
    if policy == Policy.NAIVE:
        memory.request_stage({"browsers": 1}, 30)
        both = set(Process.objects.values_list("pk", flat=True))
        assert (has_memory, is_whole, deadlocked_processes_of_pool(pool)) == (True, False, both)
        return

    assert (has_memory, is_whole) == (False, True), "the first can finish, so the second waits"
    assert bank_view(Pool.objects.get().pk).is_safe
    assert not deadlocked_processes_of_pool(pool)
    pages.give_back(units, "rendered")
    assert memory.stage_granted(give_up=False)
    assert memory.request_stage({"browsers": 1}, 30)


def test_a_shift_of_an_order_that_renders_works_with_its_stage_and_claims_nothing_for_plain_pages(
    browsers, make_site, order, work_off
):
    site = make_site({"/": "a page"})

    run = work_off(start_run(create_crawl(order(f"{site.url}/", render="when_needed"))))

    assert run.state == "finished"
    assert not Request.objects.filter(kind="stage", amounts__6__gt=0).exists()

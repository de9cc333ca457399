"""The page of the house says what its browsers do, which workers have none, and why."""

from __future__ import annotations

from uuid import uuid4

import django_rq
import pytest
from django.urls import reverse

from allocation.services import register_process, request_resources
from crawling.fetching.shift.browser import ShiftBrowser
from crawling.fetching.worker import rq_worker
from crawling.fetching.worker.rq_worker import ShiftWorker
from crawling.jobs.rq_jobs import SHIFTS, note_browser_trouble
from crawling.machine import browser as machine_browser
from crawling.machine.browser import NONE, BrowserUnits, why_no_browser
from crawling.models import RunRendering
from crawling.models.jobs import RunState
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.web.rendering.types import NoBrowserError
from tests.crawling.conftest import browsers, loopback, order, pool  # noqa: F401  # fixtures
from tests.crawling.pages import browser, soup

HEALTH = reverse("health")
SEED = "http://127.0.0.1:8901/"


@pytest.fixture
def viewer(db):
    return browser("viewer")


@pytest.fixture
def worker_of(monkeypatch):
    """Return a function that starts a worker whose machine has a browser of these units, or none;
    it has given its first sign of life.
    """
    begun = []

    def start(units: BrowserUnits | None) -> ShiftWorker:
        monkeypatch.setattr(rq_worker, "browser_units", lambda pages, workers: units)
        why = lambda pages, workers: "" if units else NONE  # noqa: E731
        monkeypatch.setattr(rq_worker, "why_no_browser", why)
        queues = [django_rq.get_queue(SHIFTS)]
        worker = ShiftWorker(queues, connection=django_rq.get_connection(SHIFTS))
        worker.register_birth()
        worker.heartbeat()
        begun.append(worker)
        return worker

    yield start
    for worker in begun:
        worker.register_death()
    note_browser_trouble("")


def text_of(client) -> str:
    return " ".join(soup(client.get(HEALTH)).main.get_text(" ").split())


def part_of(client, name: str) -> dict:
    parts = client.get("/api/v1/health").json()["parts"]
    return next(part for part in parts if part["name"] == name)


def test_a_worker_without_a_browser_says_why_and_names_the_remedy(viewer, worker_of):
    worker_of(None)

    [told] = viewer.get("/api/v1/health").json()["workers"]
    assert (told["browser_pages"], told["why_no_browser"]) == (0, NONE)
    assert "none There is no Chromium on this machine. `make browser`" in text_of(viewer)


def test_a_worker_says_what_its_browser_may_have(viewer, worker_of):
    worker_of(BrowserUnits(3, 1536))

    [told] = viewer.get("/api/v1/health").json()["workers"]
    assert (told["browser_pages"], told["browser_mebibytes"]) == (3, 1536)
    assert told["why_no_browser"] == ""
    assert "3 pages" in text_of(viewer)


def test_a_browser_that_does_not_start_is_told_until_one_does(
    viewer,
    worker_of,
    browsers,  # noqa: F811
    order,  # noqa: F811
    monkeypatch,
):
    def broken(**options):
        raise NoBrowserError("Chromium does not start: no space left")

    worker_of(BrowserUnits(3, 1536))
    run = start_run(create_crawl(order(SEED)))
    monkeypatch.setattr("crawling.fetching.shift.browser.BrowserProcess", broken)
    ShiftBrowser(run.pk, 1)._start(512)
    assert "Chromium does not start: no space left" in text_of(viewer)

    monkeypatch.setattr("crawling.fetching.shift.browser.BrowserProcess", lambda **options: None)
    monkeypatch.setattr("crawling.fetching.shift.browser.LiveView", lambda *args: None)
    ShiftBrowser(run.pk, 1)._start(512)
    assert "does not start" not in text_of(viewer)


@pytest.mark.parametrize(
    ("pages", "total", "path", "why"),
    [
        (0, 64, "/chromium", "BROWSER_PAGES is 0"),
        (4, 64, None, "make browser"),
        (4, 4, "/chromium", "Start fewer workers"),
        (4, 64, "/chromium", ""),
    ],
)
def test_each_lack_has_its_reason(monkeypatch, pages, total, path, why):
    monkeypatch.setattr(machine_browser, "browser_path", lambda: path)
    memory = type("Memory", (), {"total": total * 1024**3})
    monkeypatch.setattr(machine_browser.psutil, "virtual_memory", lambda: memory)

    told = why_no_browser(pages, workers=4)
    assert why in told
    assert bool(told) == bool(why)


def test_open_pages_and_their_memory_are_of_the_pool(viewer, worker_of, browsers):  # noqa: F811
    worker_of(BrowserUnits(8, 4096))
    claim = {"browsers": 2, "browser_memory": 1024}
    process = register_process(pool=browsers.pk, label="one", run_ref="", maximum=claim)
    request_resources(process=process.pk, amounts=claim, request_id=uuid4())

    told = viewer.get("/api/v1/health").json()["browsers"]
    assert (told["open_pages"], told["pages"]) == (2, 8)
    assert (told["granted_mebibytes"], told["mebibytes"]) == (1024, 4096)
    assert part_of(viewer, "Browsers")["sentence"] == "2 of 8 pages open"
    assert "Pages open 2 of 8 Memory of open pages 1.0 GB of 4.0 GB" in text_of(viewer)


def test_without_a_browser_a_crawl_that_waits_for_one_makes_it_a_fault(
    viewer,
    browsers,  # noqa: F811
    order,  # noqa: F811
):
    assert part_of(viewer, "Browsers")["is_fine"], "no crawl needs one"

    run = start_run(create_crawl(order(SEED, render="always")))
    assert part_of(viewer, "Browsers") == {
        "name": "Browsers",
        "is_fine": False,
        "sentence": "none: crawls that render pages wait",
    }

    run.state = RunState.FINISHED
    run.save()
    assert part_of(viewer, "Browsers")["is_fine"]


def test_renderings_that_ended_early_are_counted_by_reason(viewer, browsers, order):  # noqa: F811
    for name, ended in (("a", {"-50": 2, "-52": 1}), ("b", {"-52": 4})):
        run = start_run(create_crawl(order(SEED) | {"name": name}))
        RunRendering.objects.create(run=run, pages=20, ended=ended)

    told = viewer.get("/api/v1/health").json()["browsers"]
    assert told["rendered"] == 40
    assert [(one["status"], one["pages"]) for one in told["ended"]] == [(-52, 5), (-50, 2)]
    assert "Not rendered to the end 7" in text_of(viewer)
    assert "the browser crashed on it. -52 5" in text_of(viewer)

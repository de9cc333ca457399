"""A pool, permission for loopback, and a worker that runs in the test's own process."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator

import django_rq
import pytest
from rq import Worker

from allocation.models import OutboxKind, Pool
from allocation.services import (
    NewClass,
    add_resource_class,
    create_pool,
    mark_sent,
    unsent_outbox,
)
from crawling.datasets.jobs import LINKS
from crawling.fetching.worker.jobs import run_shift
from crawling.installation.identity import set_identity
from crawling.jobs.rq_jobs import SHIFTS
from crawling.machine.browser import browser_path
from crawling.models import AllowedNetwork, BackgroundJob, Run
from crawling.models.jobs import ENDED_STATES
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.scheduler.duties import start_due_crawls
from crawling.uses.checkpoints.checkpoint_export import take_checkpoint
from tests.crawling.buckets import BUCKET, Relay, relay_to, use_server
from tests.crawling.shared import Shared
from tests.crawling.uses.alerts.mailserver import serve_mail

CLASSES = [
    NewClass("worker", "worker", "RQ workers", 4),
    NewClass("fetch_slots", "thread", "Fetch threads", 64),
    NewClass("bandwidth", "KiB/s", "Bandwidth", 100_000),
    NewClass("memory", "MiB", "Documents in hand", 512),
    NewClass("dns_slots", "look-up", "Look-ups in flight", 64),
    NewClass("archive_writers", "file", "Archive files open", 8),
]
OF_BROWSERS = [
    NewClass("browsers", "pages", "Pages open in browsers", 8),
    NewClass("browser_memory", "MiB", "Memory of these pages", 8 * 512),
]


@pytest.fixture
def bucket(bucket_servers, monkeypatch, settings, tmp_path) -> Iterator[Relay]:
    """The archive is in an empty bucket, behind this relay."""
    with relay_to(bucket_servers("moto")) as relay:
        use_server(monkeypatch, relay.port)
        settings.ARCHIVE_URL = f"s3://{BUCKET}/{tmp_path.name}"
        yield relay


@pytest.fixture
def another_machine(settings, tmp_path) -> Callable[[], None]:
    """Return a function after whose call this process is on another machine."""

    def move() -> None:
        settings.STATE_DIR = settings.ARCHIVE_DIR = tmp_path / "another"
        settings.ARCHIVE_DIR.mkdir()

    return move


@pytest.fixture
def pool(db) -> Pool:
    return the_pool()


def the_pool() -> Pool:
    """The pool of the module's shared crawls, or a new one."""
    return Pool.objects.filter(name="default").first() or create_pool(
        name="default", classes=CLASSES
    )


@pytest.fixture(scope="session")
def needs_browser():
    """Skip tests loudly where there is no browser; CI has one."""
    if browser_path() is None:
        refuse = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        refuse("NO BROWSER: pages are not rendered; run `make browser`")


@pytest.fixture
def browsers(pool) -> Pool:
    """The pool with classes of browsers: 8 pages, and 512 MiB for each."""
    for new in OF_BROWSERS:
        pool = add_resource_class(pool=pool.pk, new=new)
    return pool


@pytest.fixture
def loopback(db) -> AllowedNetwork:
    return allowed_loopback()


def allowed_loopback() -> AllowedNetwork:
    """The permission for loopback, shared in the same way as the pool."""
    return AllowedNetwork.objects.get_or_create(
        network="127.0.0.0/8", port_from=1024, port_to=65535
    )[0]


@pytest.fixture
def order(pool, loopback):
    """Return a function that makes a crawl's fields: fast, and otherwise the defaults."""
    return order_of


def order_of(*seeds: str, **fields):
    return {"name": "a crawl", "seeds": list(seeds), "delay_seconds": 0, **fields}


@pytest.fixture
def crawl_to_the_end(order, work_off):
    """Return a function that makes a crawl, runs all its shifts, and returns its run."""

    def crawl(*seeds: str, **fields) -> Run:
        return work_off(start_run(create_crawl(order(*seeds, **fields))))

    return crawl


@pytest.fixture(scope="module")
def shared(django_db_setup, django_db_blocker, tmp_path_factory) -> Iterator[Shared]:
    """The state that the tests of a module share (see `Shared`)."""
    with Shared.begun(django_db_blocker, tmp_path_factory.mktemp("shared")) as shared:
        yield shared


@pytest.fixture(scope="module")
def crawl_once(shared) -> Callable[..., Run]:
    """Like `crawl_to_the_end`, but for all tests of a module, whose changes are rolled back. They
    read the run by `Run.objects.get`.
    """

    def crawl(*seeds: str, **fields) -> Run:
        the_pool()
        allowed_loopback()
        order = order_of(*seeds, **{"name": "a shared crawl", **fields})
        return do_shifts(start_run(create_crawl(order)))

    return lambda *seeds, **fields: shared.do(crawl, *seeds, **fields)


@pytest.fixture
def work_off(pool, transactional_db):
    return do_shifts


def do_shifts(
    run: Run, *, until: Callable[[Run], bool] = lambda run: run.state in ENDED_STATES
) -> Run:
    """Run the shifts of a run, one after the other in this process, until it has ended or `until`
    is true of it. There is no worker for background jobs, so each test has to run the job of the
    run's links, which its end requests.
    """
    while not until(run):
        start_due_crawls()
        granted = granted_starts()
        for process, epoch in granted:
            run_shift(process, epoch)
        if not granted:
            time.sleep(0.02)  # a host rests; meanwhile other tests have the processor
        run.refresh_from_db()
    BackgroundJob.objects.filter(kind=LINKS.name, run=run).delete()
    return run


def granted_starts() -> list[tuple[int, int]]:
    """The shifts that were granted and not yet handed to a worker, as the scheduler would hand them
    out.
    """
    messages = [message for message in unsent_outbox() if message.kind == OutboxKind.START]
    mark_sent(ids=[message.id for message in messages])
    return [(message.process, message.epoch) for message in messages]


@pytest.fixture
def identified(db):
    """Identify ourselves, so that real sites may be crawled."""
    return set_identity("crawlsite", "https://crawls.example.org/about")


@pytest.fixture
def free_port() -> int:
    """A port on loopback without a listener."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def taken(order, make_site, work_off, tmp_path):
    """A checkpoint of a small crawl."""
    site = make_site({"/": '<a href="/a">x</a>', "/a": "a"})
    run = work_off(start_run(create_crawl(order(f"{site.url}/"))))
    take_checkpoint(run, tmp_path / "taken", with_archive=True)
    return tmp_path / "taken"


@pytest.fixture
def queue(pool):
    """The real queue, emptied and without workers."""
    queue = django_rq.get_queue(SHIFTS)
    queue.connection.flushdb()
    yield queue
    queue.connection.flushdb()


@pytest.fixture
def worker(queue):
    """A worker that is registered for shifts, as commands require before they begin a run; it never
    takes one.
    """
    worker = Worker([queue])
    worker.register_birth()
    yield worker
    worker.register_death()


@pytest.fixture
def mail_server(settings):
    """Send mail by SMTP to a server; pytest-django otherwise keeps it in memory."""
    with serve_mail() as server:
        settings.EMAIL_BACKEND = "crawlsite.mail_backend.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = server.server_address
        settings.PUBLIC_URL = "https://crawls.example.org"
        yield server

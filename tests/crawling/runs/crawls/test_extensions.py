"""Packages that add a protocol, a content type or an order of visits."""

from __future__ import annotations

import json
import os
import socketserver
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from crawling.base.errors import BadOrder, WrongState
from crawling.frontier.admit import package_ranks
from crawling.frontier.admit.package_ranks import PACKAGE_RANKS
from crawling.machine import vitals
from crawling.machine.vitals import VITALS, find_kill_reason
from crawling.models import CrawlJob, Page, Run
from crawling.orders.ranking import rank_by_order
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.extensions import POINTS, extension_warnings
from crawling.runs.start import start_run
from crawling.web.addresses import BadUrl, read_address
from crawling.web.documents.base import MAX_TITLE_LENGTH, TruncationReason
from crawling.web.documents.registry import readers_by_type
from tests.crawling.pages import browser
from tests.stack import SCHEDULER, WORKER, running_stack, wait_until

EXAMPLE = Path("docs/examples/extension")
#: modules that cannot be imported, a name that is ours, and one that fails when it is called
FAULTY = """
[crawlsite.protocols]
gemini = faulty_package:PROTOCOL
ftp = faulty_package.nothing
[crawlsite.content_types]
broken = faulty_package:PROTOCOL
raises = faulty_readers.raises
floods = faulty_readers.floods
[crawlsite.visit_orders]
newest_first = faulty_order:ORDER
by_chance = faulty_rank
counting = faulty_ranks.counting
asleep = faulty_ranks.asleep
slow = faulty_ranks.slow
"""
#: modules of it, by path
MODULES = {
    "faulty_package.py": "raise RuntimeError('its library is missing')",
    "faulty_rank.py": """
LABEL = 'By chance'
def rank(url, depth):
    raise OverflowError('no luck')
""",
    "faulty_ranks/__init__.py": "",
    "faulty_ranks/counting.py": """
LABEL = 'Deepest first'
calls = []
def rank(url, depth):
    calls.append(url)
    return -depth
""",
    "faulty_ranks/slow.py": """
import time
LABEL = 'Takes its time'
calls = []
def rank(url, depth):
    calls.append(url)
    time.sleep(0.8)  # as a package that asks a server would
    return len(calls)
""",
    "faulty_ranks/asleep.py": """
import threading
LABEL = 'In a long while'
woken = threading.Event()
def rank(url, depth):
    return -depth if depth == 0 else woken.wait()
""",
    "faulty_readers/__init__.py": "",
    "faulty_readers/raises.py": """
TYPES = ('text/x-raises',)
def read(source):
    raise LookupError(source.url)
""",
    "faulty_readers/floods.py": """
from crawling.web.documents.base import Document
from crawling.web.links import Links
TYPES = ('text/x-floods',)
def read(source):
    links = Links(source.url, charset='UTF-8')
    links.add('/found')
    return Document('t' * 10**6, links=links.found * 60_000, text='\\0w' * 10**6)
""",
}


def look_again() -> None:
    """Forget what was found of packages, as another process would."""
    for point in POINTS:
        vars(point).pop("_parts_and_extensions", None)
    readers_by_type.cache_clear()


@contextmanager
def on_the_path(place: Path, monkeypatch):
    before = set(sys.modules)
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(place))
        patch.setattr(PACKAGE_RANKS, "slow", Counter())
        look_again()
        yield
    for name in sys.modules.keys() - before:
        if name.startswith(("crawlsite_example", "faulty_")):
            del sys.modules[name]
    look_again()


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Where pip has installed the package of the documentation, without a network."""
    site = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run(
        [*pip, "--no-build-isolation", "--no-compile", "--target", site, EXAMPLE], check=True
    )
    return site


@pytest.fixture
def example(installed, monkeypatch):
    with on_the_path(installed, monkeypatch):
        yield


@pytest.fixture
def faulty(tmp_path, monkeypatch):
    about = tmp_path / "faulty-0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 0.1\n")
    (about / "entry_points.txt").write_text(FAULTY)
    for name, text in MODULES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    with on_the_path(tmp_path, monkeypatch):
        yield


class GopherHole(socketserver.StreamRequestHandler):
    """Answers a selector by what the server has for it."""

    def handle(self) -> None:
        selector = self.rfile.readline().rstrip(b"\r\n").decode()
        self.server.asked.append(selector)
        self.wfile.write(
            self.server.items.get(selector, "3There is no such item.\t\t\t\r\n.\r\n").encode()
        )


@pytest.fixture
def gopher():
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), GopherHole)
    server.items, server.asked = {}, []
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def pages_of(run: Run) -> dict[str, Page]:
    return {page.url.url: page for page in Page.objects.filter(url__run=run).select_related("url")}


def test_the_example_of_the_documentation_is_installed_and_crawled_with(
    example, order, work_off, make_site, gopher
):
    feed = {"title": "News", "items": [{"url": "/news/long-name"}, {"url": "/b"}, {"title": 1}]}
    site = make_site(
        {
            "/feed": (200, {"Content-Type": "application/feed+json"}, json.dumps(feed)),
            "/b": "<title>b</title>",
            "/news/long-name": "<title>long</title>",
        }
    )
    port = gopher.server_address[1]
    gopher.items |= {
        "": f"iWelcome\t\t\t\r\n0About us\t/about\t127.0.0.1\t{port}\r\n"
        f"1More\t/more\t127.0.0.1\t{port}\r\nhFeed\tURL:{site.url}/feed\t127.0.0.1\t70\r\n.\r\n",
        "/about": "We are here.",
    }
    hole = f"gopher://127.0.0.1:{port}"

    crawl = create_crawl(
        order(f"{hole}", f"{site.url}/feed", order="shortest_first", exact_order=True)
    )
    run = work_off(start_run(crawl))

    pages = pages_of(run)
    assert {url: page.status for url, page in pages.items()} == {
        f"{hole}/": 200,
        f"{hole}/0/about": 200,
        f"{hole}/1/more": 404,
        f"{site.url}/feed": 200,
        f"{site.url}/b": 200,
        f"{site.url}/news/long-name": 200,
    }
    assert pages[f"{hole}/0/about"].content_type == "text/plain"
    assert pages[f"{site.url}/feed"].title == "News"
    assert site.paths == [
        "/feed",
        "/b",
        "/news/long-name",
    ]
    assert sorted(gopher.asked) == ["", "/about", "/more"]


def test_addresses_of_another_scheme_have_one_spelling(example):
    address = read_address("GOPHER://EXAMPLE.org:70/1/a/../b?q#f")

    assert address == ("gopher://example.org/1/b?q", "gopher", "example.org", 70)
    assert read_address("/0/x", address.url).url == "gopher://example.org/0/x"
    assert read_address("gopher://example.org:7070").host_key == "example.org:7070"
    for text in ("gopher:x", "gopher:///x", "gopher://u:p@example.org/", "gopher://a:99999/"):
        with pytest.raises(BadUrl):
            read_address(text)


def test_a_faulty_package_is_named_everywhere_and_harms_nothing(faulty, db):
    viewer = browser("viewer")
    reported = {one["name"]: one for one in viewer.get("/api/v1/health").json()["extensions"]}
    page = viewer.get("/health/").content.decode()

    assert "its library is missing" in reported["gemini"]["fault"]
    assert "belongs to another part" in reported["ftp"]["fault"]
    assert "No module named" in reported["newest_first"]["fault"]
    assert reported["by_chance"]["fault"] == ""
    assert "its library is missing" in page
    assert len(extension_warnings()) == 4
    assert read_address("ftp://a.test/").port == 21
    assert (rank_by_order("by_chance", "https://a.test/", 3), rank_by_order("gone", "", 2)) == (
        3.0,
        2.0,
    )


def test_orders_that_need_a_faulty_package_are_refused_with_the_remedy(faulty, order):
    with pytest.raises(BadOrder) as refusal:
        create_crawl(order("gemini://127.0.0.1/", order="newest_first"))

    for field in ("seeds", "order"):
        assert "faulty 0.1 is not available" in refusal.value.errors[field]
        assert "install the package on every machine" in refusal.value.errors[field]


def test_a_crawl_whose_package_is_gone_neither_starts_nor_harms_a_worker(
    order, work_off, make_site
):
    site = make_site({"/": "x"})
    crawl = create_crawl(order(f"{site.url}/"))
    run = start_run(crawl)
    CrawlJob.objects.update(visit_order="newest_first", seeds=["gemini://127.0.0.1/"])

    paused = work_off(run, until=lambda run: run.state == "paused")

    assert "no installed package adds it" in paused.trouble
    assert site.paths == []
    Run.objects.update(state="stopped")
    with pytest.raises(WrongState, match="no installed package adds it"):
        start_run(CrawlJob.objects.get())


def test_a_rank_that_takes_too_long_is_asked_for_no_more_and_the_crawl_goes_on_by_depth(
    faulty, monkeypatch, crawl_to_the_end, make_site
):
    monkeypatch.setattr(package_ranks, "CALL_SECONDS", 0.0)
    paths = [f"/{number}" for number in range(9)]
    links = "".join(f'<a href="{path}">a</a>' for path in paths)
    site = make_site({"/": links, **dict.fromkeys(paths, "x")})

    run = crawl_to_the_end(f"{site.url}/", order="counting")

    assert run.state == "finished"
    assert len(site.paths) == 10
    assert len(sys.modules["faulty_ranks.counting"].calls) == package_ranks.MOST_SLOW


def test_a_package_ranks_in_shifts_alone_where_it_can_be_ended(faulty):
    assert PACKAGE_RANKS.rank("counting", "x", 3) == 3.0
    with VITALS.shift():
        assert PACKAGE_RANKS.rank("counting", "x", 3) == -3.0
    assert PACKAGE_RANKS.rank("counting", "x", 3) == 3.0


def test_seeds_are_ranked_by_a_package_when_a_shift_begins(example, order, work_off, make_site):
    paths = ["/the-longest-of-all", "/of-middle-length", "/short"]
    site = make_site(dict.fromkeys([*paths, "/b"], "x"))
    seeds = [f"{site.url}{path}" for path in paths]
    crawl = create_crawl(order(*seeds, order="shortest_first", exact_order=True))
    run = start_run(crawl)
    assert set(run.urls.values_list("rank", flat=True)) == {0.0}

    work_off(run)

    assert site.paths == list(reversed(paths))


def test_a_shift_begins_however_long_a_package_takes_for_seeds(faulty, order, work_off, make_site):
    site = make_site({f"/{number}": "x" for number in range(4)})
    crawl = create_crawl(order(*(f"{site.url}/{n}" for n in range(4)), order="slow"))

    run = work_off(start_run(crawl))

    assert (run.state, len(site.paths)) == ("finished", 4)
    assert len(sys.modules["faulty_ranks.slow"].calls) < 4


def test_a_rank_that_does_not_return_is_shown_to_the_worker(faulty, monkeypatch):
    VITALS.clear()
    with VITALS.shift(), ThreadPoolExecutor(1) as thread:
        assert (PACKAGE_RANKS.rank("asleep", "x", 0), VITALS.is_stuck()) == (0.0, False)
        monkeypatch.setattr(vitals, "STUCK_SECONDS", 0.01)
        rank = thread.submit(PACKAGE_RANKS.rank, "asleep", "x", 1)
        wait_until(lambda: find_kill_reason(os.getpid(), VITALS, 60))
        reason = find_kill_reason(os.getpid(), VITALS, 60)
        sys.modules["faulty_ranks.asleep"].woken.set()
        rank.result()

    assert (reason.comes_again, reason.culprit) == (True, None)
    assert not find_kill_reason(os.getpid(), VITALS, 60)


@pytest.mark.drill
def test_a_worker_kills_a_shift_whose_rank_waits_for_ever_and_the_run_is_paused(
    transactional_db, faulty, tmp_path, order, make_site
):
    site = make_site({"/": '<a href="/a">a</a>'})
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    with running_stack(tmp_path, PYTHONPATH=path) as stack:
        stack.start(SCHEDULER)
        stack.start(WORKER)
        run = start_run(create_crawl(order(f"{site.url}/", order="asleep")))
        wait_until(lambda: Run.objects.get().state == "paused")

    assert "asleep did not return" in Run.objects.get().trouble
    assert not run.urls.filter(losses__gt=0).exists()


def test_a_reader_that_raises_or_returns_too_much_costs_its_own_document_alone(
    faulty, crawl_to_the_end, make_site
):
    site = make_site(
        {
            "/": '<a href="/raises">r</a><a href="/floods">f</a>',
            "/raises": (200, {"Content-Type": "text/x-raises"}, "r"),
            "/floods": (200, {"Content-Type": "text/x-floods"}, "f"),
            "/found": "found",
        }
    )

    run = crawl_to_the_end(f"{site.url}/")

    pages = {url.rpartition("/")[2]: page for url, page in pages_of(run).items()}
    assert {name: page.status for name, page in pages.items()} == dict.fromkeys(
        ("", "raises", "floods", "found"), 200
    )
    assert {name: page.unread for name, page in pages.items() if page.unread} == {
        "raises": TruncationReason.BROKEN,
        "floods": TruncationReason.LINKS,
    }
    assert (len(pages["floods"].title), pages["floods"].links) == (MAX_TITLE_LENGTH, 50_000)

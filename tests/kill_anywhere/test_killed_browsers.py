"""Kill -9 of a worker, a work process, and of the program, driver, browser and renderer of its
browser: the crawl goes on, each page is archived once, and nothing is left over.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random

import psutil
import pytest
from warcio.archiveiterator import ArchiveIterator

from crawling.orders.rendering import Rendering
from crawling.web.rendering.folders import PREFIX
from crawling.web.statuses import FetchStatus
from tests.crawling.conftest import needs_browser
from tests.crawling.web.rendering.parts import is_part
from tests.crawlsite.programs import eventually
from tests.kill_anywhere.judging import RUN, judge_bank
from tests.kill_anywhere.stage import Stage, staged
from tests.kill_anywhere.test_kill_anywhere import prepared, short_place
from tests.servers import Site, serve_site

__all__ = ["needs_browser", "prepared", "short_place"]

PAGES, NAME = 60, "rendered"
#: until pages are fetched again, with a lease of 5 s and 5 s to take it up
SECONDS_ANEW = 20
WORKERS = "worker", "work process", "worker and work process"
OF_BROWSER = "program", "driver", "browser", "renderer"
#: a page that its script completes; links are there without it, since a page whose rendering was
#: ended is read as it was sent
SHELL = "<title>shell</title>{links}<p id=app></p><script src=/app.js></script>"
SCRIPT = """fetch("/data" + location.pathname).then((answer) => answer.text()).then((text) => {
  document.title = app.textContent = text;
});"""


def pages() -> dict:
    """A web in which each page links to three more."""
    found = {"/app.js": (200, {"Content-Type": "text/javascript"}, SCRIPT)}
    for n in range(PAGES):
        path = f"/{n or ''}"
        below = [child for child in range(3 * n + 1, 3 * n + 4) if child < PAGES]
        links = "".join(f'<a href="/{child}">{child}</a>' for child in below)
        found[path] = SHELL.format(links=links)
        found[f"/data{path}"] = (200, {"Content-Type": "text/plain"}, f"rendered {n}")
    return found


class RenderingStage:
    """The processes of a running product, by what they do."""

    def __init__(self, stage: Stage, temporary: Path) -> None:
        self.stage, self.temporary = stage, temporary

    def find(self, part: str) -> list[psutil.Process]:
        """The processes of a kind, in an order that does not matter; those that have a browser
        only, if work processes are asked for.
        """
        workers = self.stage._named("rq:worker")
        at_work = [
            (worker, child)
            for worker in workers
            for child in worker.children()
            if any(is_part(below, "renderer") for below in child.children(recursive=True))
        ]
        if part in WORKERS:
            chosen = {"worker": slice(0, 1), "work process": slice(1, 2)}.get(part, slice(2))
            return [process for pair in at_work[:1] for process in pair[chosen]]
        below = [one for _, child in at_work[:1] for one in child.children(recursive=True)]
        return [one for one in below if is_part(one, part)]

    def kill(self, part: str) -> None:
        """Kill all processes of a part, none of which sees another die."""
        found: list[psutil.Process] = []

        def has_found() -> bool:
            with suppress(psutil.Error):  # one has just ended
                found[:] = self.find(part)
            return bool(found)

        eventually(has_found, 60)
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process in found:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, number)

    def left(self) -> list[str]:
        """The processes of browsers, and work processes, that are alive."""
        told = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                words = " ".join(process.cmdline())
                is_work = process.ppid() in {one.pid for one in self.stage._named("rq:worker")}
                if is_work or str(self.temporary) in words:
                    told.append(f"{process.pid} {process.status()} {words[:90]}")
        return told

    def folders(self) -> list[Path]:
        return list(self.temporary.glob(f"{PREFIX}*"))


@pytest.fixture
def temporary(short_place, monkeypatch):
    """The folder of temporary files, which the browser's user reaches."""
    folder = short_place / "tmp"
    folder.mkdir()
    for path in (short_place, folder):
        path.chmod(0o755)
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def judge_pages(stage: Stage, site: Site) -> Counter[int]:
    """Check that each page has one row, one answer and one rendition in the archive. Return what
    became of their renderings.
    """
    rows = stage.ask(
        f"""SELECT u.url, p.status, p.rendering FROM crawling_page p
            JOIN crawling_url u ON u.id = p.url_id WHERE p.run_id = {RUN}""",
        NAME,
    )
    expected = {f"{site.url}/{n or ''}" for n in range(PAGES)}
    assert Counter(url for url, *_ in rows) == Counter(expected)
    assert {status for _, status, _ in rows} == {200}
    records: Counter[tuple[str, str]] = Counter()
    for path in (stage.place / "archive").rglob("*.warc.gz"):
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                url = record.rec_headers.get_header("WARC-Target-URI") or ""
                records[record.rec_type, url] += 1
    rendered = {url for url, _, rendering in rows if rendering == Rendering.ALWAYS}
    for url in expected:
        answers = records["response", url] + records["revisit", url]
        assert (url, answers) == (url, 1)
        made = records["resource", f"urn:dom:{url}"]
        assert (url, made) == (url, int(url in rendered))
    return Counter(rendering for _, _, rendering in rows)


@pytest.mark.drill
@pytest.mark.usefixtures("needs_browser")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(3))
def test_a_crawl_that_renders_survives_whatever_is_killed(prepared, short_place, temporary, seed):
    chance = Random(seed)
    victims = chance.sample([*WORKERS, *OF_BROWSER], 7)
    shared = set(Path("/dev/shm").iterdir())
    with staged(prepared, short_place / "state") as stage, serve_site(pages()) as site:
        product = RenderingStage(stage, temporary)
        stage.crawl({NAME: {"seeds": [f"{site.url}/"], "render": "always", "batch_size": 5}})
        for victim in victims:
            print(f"\n{victim}", end=": ", flush=True)
            product.kill(victim)
            killed_at, seen = time.monotonic(), len(site.log)
            eventually(lambda seen=seen: len(site.log) > seen, 90)
            seconds = site.log[seen].at - killed_at
            print(f"requests again after {seconds:.1f} s", end="")
            assert seconds < SECONDS_ANEW
        stage.await_end()

        eventually(lambda: not product.left(), 30)
        print(
            "processes:",
            *(
                one.name()
                for one in psutil.Process(stage.product.process.pid).children(recursive=True)
            ),
        )
        ends = judge_pages(stage, site)
        print("renderings:", dict(ends))
        assert set(ends) <= {Rendering.ALWAYS, FetchStatus.RENDER_CRASHED}
        judge_bank(stage)
    assert product.folders() == []
    assert {
        path for path in set(Path("/dev/shm").iterdir()) - shared if "chrom" in path.name
    } == set()

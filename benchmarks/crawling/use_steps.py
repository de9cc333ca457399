"""Uses of a crawl that have no command of their own, each as `benchmarks.crawling.uses` starts it:
`python -m benchmarks.crawling.use_steps STEP CRAWL`. Prints what came of it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from resource import RUSAGE_CHILDREN, getrusage
from typing import TYPE_CHECKING, Any

from benchmarks.scene.database import set_up_django

if TYPE_CHECKING:
    from crawling.models import CrawlJob, Run

#: of ten pages one is read again for the share of microformats
EVERY = 10


def nothing(crawl: CrawlJob) -> str:
    return "what each of these takes without doing anything"


def tabs(crawl: CrawlJob) -> str:
    """The page of the link check with each kind of problem, as a browser gets it."""
    from crawling.uses.link_check.problem_kinds import ProblemKind

    client, times, broken_off, run = _client(), {}, [], whole_run(crawl).number
    for kind in ProblemKind:
        began = time.monotonic()
        answer = client.get(f"/crawls/{crawl.pk}/links/?kind={kind}&run={run}")
        times[str(kind)] = time.monotonic() - began
        assert answer.status_code == 200, kind
        if b"message error" in answer.content:
            broken_off.append(str(kind))
    slowest = max(times, key=lambda kind: times[kind])
    return (
        f"{len(times)} tabs, the longest {times[slowest]:.1f} s ({slowest}); broken off: "
        f"{', '.join(broken_off) or 'none'}"
    )


def csv(crawl: CrawlJob) -> str:
    return _file(crawl, "csv")


def junit(crawl: CrawlJob) -> str:
    return _file(crawl, "xml")


def changes(crawl: CrawlJob) -> str:
    """The links that differ between the last two runs, as a file."""
    return _lines(f"/crawls/{crawl.pk}/link-changes.csv")


def watch(crawl: CrawlJob) -> str:
    return _watched(crawl, ignore_numbers=False)


def watch_without_numbers(crawl: CrawlJob) -> str:
    """Each page whose content differs is compared: what differs is no change to this watch."""
    return _watched(crawl, ignore_numbers=True)


def plan(crawl: CrawlJob) -> str:
    """Plan revisits, a tenth of the pages a day."""
    from crawling.models import Page, PlannedRevisit
    from crawling.runs.crawls.revisions import edit_crawl
    from crawling.uses.revisits.planner import plan_crawl

    pages = Page.objects.filter(run=_latest(crawl)).count()
    edit_crawl(crawl, {"visits_a_day": max(1, pages // 10)})
    plan_crawl(crawl.pk)
    return f"{PlannedRevisit.objects.filter(crawl=crawl).count():,} pages planned"


def microformats(crawl: CrawlJob) -> str:
    """A tenth of the second reading, and the share of microformats in it."""
    from crawling.datasets.microformats import MicroformatsReader
    from crawling.datasets.second_reading import _read
    from crawling.datasets.stored_documents import html_pages

    spent = [0.0]

    class TimedReader(MicroformatsReader):
        def items(self, document: Any, base: str) -> Any:
            began = time.process_time()
            try:
                return super().items(document, base)
            finally:
                spent[0] += time.process_time() - began

    run, began, pages, items = whole_run(crawl), time.process_time(), 0, 0
    with TimedReader() as reader:
        for page in html_pages(run).order_by("pk").iterator():
            if page.pk % EVERY == 0:
                rows = _read(run, page, reader)
                pages, items = (
                    pages + 1,
                    items + sum(row[3] == "microformats" for row in rows.structured),
                )
    program = getrusage(RUSAGE_CHILDREN)
    spent[0] += program.ru_utime + program.ru_stime
    whole = time.process_time() - began + program.ru_utime + program.ru_stime
    return (
        f"{pages:,} pages, {1000 * whole / pages:.1f} ms of the processor each; microformats: "
        f"{items:,} items, {1000 * spent[0] / pages:.2f} ms a page, {spent[0] / whole:.1%}"
    )


STEPS: dict[str, Callable[[CrawlJob], str]] = {
    step.__name__: step
    for step in (
        *(nothing, tabs, csv, junit, changes, watch, watch_without_numbers, plan),
        microformats,
    )
}


def _latest(crawl: CrawlJob) -> Run:
    return crawl.runs.get(is_latest=True)


def whole_run(crawl: CrawlJob) -> Run:
    """The latest run whose pages have been read a second time, all of them."""
    from crawling.datasets.progress import unread_parts

    return next(run for run in crawl.runs.order_by("-number") if not unread_parts(run))


def _client() -> Any:
    from django.contrib.auth.models import User
    from django.test import Client

    user, _ = User.objects.get_or_create(username="uses", is_superuser=True, is_staff=True)
    client = Client()
    client.force_login(user)
    return client


def _file(crawl: CrawlJob, kind: str) -> str:
    return _lines(f"/crawls/{crawl.pk}/link-check.{kind}?run={whole_run(crawl).number}")


def _lines(path: str) -> str:
    """What a browser gets in pieces."""
    lines = size = 0
    answer = _client().get(path)
    assert answer.status_code == 200, path
    for piece in answer.streaming_content:
        lines, size = lines + piece.count(b"\n"), size + len(piece)
    return f"{lines:,} lines, {size / 1e6:.1f} MB"


def _watched(crawl: CrawlJob, *, ignore_numbers: bool) -> str:
    """Watch all pages of the seed's host, as if since before the latest run."""
    from crawling.uses.watches.comparing import compare_watched
    from crawling.uses.watches.models import Watch
    from crawling.uses.watches.watching import WatchFields, create_watch, remove_watch
    from crawling.web.addresses import read_address

    host = read_address(crawl.seeds[0]).host_key
    fields = WatchFields("host", host, ignore_numbers=ignore_numbers)
    made = create_watch(crawl, fields, by=None)
    Watch.objects.filter(pk=made.pk).update(compared_until=_latest(crawl).started_at)
    compare_watched(crawl.pk)
    made.refresh_from_db()
    said = f"{made.found.count():,} events. {made.note}"
    remove_watch(crawl, made.pk, by=None)
    return said


def main() -> None:
    from django.conf import settings

    from crawling.models import CrawlJob

    settings.ALLOWED_HOSTS = ["testserver"]
    print(STEPS[sys.argv[1]](CrawlJob.objects.get(name=sys.argv[2])))


if __name__ == "__main__":
    set_up_django()
    main()

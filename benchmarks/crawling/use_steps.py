"""Uses of a crawl that have no command. `benchmarks.crawling.uses` starts each of them by `python
-m benchmarks.crawling.use_steps STEP CRAWL`. Prints the result.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from django.conf import settings

from benchmarks.crawling import spending
from benchmarks.dashboard.answers import administrator
from benchmarks.report import in_words
from benchmarks.timer import timed
from crawling.datasets.microformats import MicroformatsReader
from crawling.datasets.progress import unread_parts
from crawling.datasets.second_reading import _read_page
from crawling.datasets.stored_documents import html_pages
from crawling.models import CrawlJob, Page, PlannedRevisit, Run
from crawling.runs.crawls.revisions import edit_crawl
from crawling.uses.link_check.problem_kinds import ProblemKind
from crawling.uses.revisits.planner import plan_crawl
from crawling.uses.search.search import SearchFilter, search_texts
from crawling.uses.watches.comparing import compare_watched
from crawling.uses.watches.models import Watch
from crawling.uses.watches.watching import WatchFields, create_watch, remove_watch
from crawling.web.addresses import read_address

#: one page in this many is read again, for the share of microformats
EVERY = 10
SEARCHES = 300
ITEMS = "crawling.datasets.microformats:MicroformatsReader.items"


def tabs(crawl: CrawlJob) -> str:
    """Get the page of the link check for each kind of problem, as a browser does."""
    client, times, broken_off, run = administrator(), {}, [], latest_reread_run(crawl).number
    for kind in ProblemKind:
        with timed() as taken:
            answer = client.get(f"/crawls/{crawl.pk}/links/?kind={kind}&run={run}")
        times[str(kind)] = taken.clock
        assert answer.status_code == 200, kind
        if b"message error" in answer.content:
            broken_off.append(str(kind))
    slowest = max(times, key=lambda kind: times[kind])
    return (
        f"{len(times)} tabs, the longest {times[slowest]:.1f} s ({slowest}); broken off: "
        f"{', '.join(broken_off) or 'none'}"
    )


def file(kind: str, crawl: CrawlJob) -> str:
    return lines(f"/crawls/{crawl.pk}/link-check.{kind}?run={latest_reread_run(crawl).number}")


def lines(path: str) -> str:
    """Get a page that is sent in pieces, as a browser does."""
    answer: Any = administrator().get(path)
    assert answer.status_code == 200, path
    pieces = [(piece.count(b"\n"), len(piece)) for piece in answer.streaming_content]
    count, size = (sum(column) for column in zip(*pieces, strict=True))
    return f"{count:,} lines, {size / 1e6:.1f} MB"


def plan(crawl: CrawlJob) -> str:
    """Plan revisits of a tenth of the pages a day."""
    pages = Page.objects.filter(run=_latest(crawl)).count()
    edit_crawl(crawl, {"visits_a_day": max(1, pages // 10)})
    plan_crawl(crawl.pk)
    return f"{PlannedRevisit.objects.filter(crawl=crawl).count():,} pages planned"


def microformats(crawl: CrawlJob) -> str:
    """Make a tenth of the second reading, and measure the share of microformats in it."""
    spending.install({"items": [ITEMS]})
    run, pages, items = latest_reread_run(crawl), 0, 0
    with timed() as taken, MicroformatsReader() as reader:
        for page in html_pages(run).order_by("pk").iterator():
            if page.pk % EVERY == 0:
                rows = _read_page(run, page, reader)
                pages += 1
                items += sum(row[3] == "microformats" for row in rows.structured)
    spent = spending.spent()["items"] + taken.children
    return (
        f"{pages:,} pages, {1000 * taken.here / pages:.1f} ms of the processor each; microformats: "
        f"{items:,} items, {1000 * spent / pages:.2f} ms a page, {spent / taken.here:.1%}"
    )


def searches(crawl: CrawlJob) -> str:
    """Search for words of titles: one, two, both as a phrase, and one of two."""
    dice, times = Random(1), list[float]()  # noqa: S311  # no secret
    titles = Page.objects.filter(run=latest_reread_run(crawl)).values_list("title", flat=True)
    texts = [words for title in titles if len(words := re.findall(r"\w{3,}", title)) > 1]
    for number in range(SEARCHES):
        one, other = dice.sample(dice.choice(texts), 2)
        queries = (one, f"{one} {other}", f'"{one} {other}"', f"{one} OR {other}")
        with timed() as taken:
            search_texts(queries[number % len(queries)], SearchFilter())
        times.append(taken.clock)
    return in_words(times)


def watch(crawl: CrawlJob, *, ignore_numbers: bool = False) -> str:
    """Watch all pages of the seed's host, as if the watch were older than the latest run. If
    numbers are ignored, each page with different content is compared, although the differences are
    no changes to this watch.
    """
    host = read_address(crawl.seeds[0]).host_key
    fields = WatchFields("host", host, ignore_numbers=ignore_numbers)
    made = create_watch(crawl, fields, by=None)
    Watch.objects.filter(pk=made.pk).update(compared_until=_latest(crawl).started_at)
    compare_watched(crawl.pk)
    made.refresh_from_db()
    said = f"{made.found.count():,} events. {made.note}"
    remove_watch(crawl, made.pk, by=None)
    return said


STEPS: dict[str, Callable[[CrawlJob], str]] = {
    "nothing": lambda _: "what each of these takes without doing anything",
    "link check, each tab once": tabs,
    "link check, CSV": partial(file, "csv"),
    "link check, JUnit": partial(file, "xml"),
    "links of two runs compared, CSV": lambda crawl: lines(f"/crawls/{crawl.pk}/link-changes.csv"),
    "searches": searches,
    "watch of all pages": watch,
    "watch of all pages, numbers are no change": partial(watch, ignore_numbers=True),
    "plan of revisits": plan,
    "second reading, a tenth": microformats,
}


def _latest(crawl: CrawlJob) -> Run:
    return crawl.runs.get(is_latest=True)


def latest_reread_run(crawl: CrawlJob) -> Run:
    """The latest run all of whose pages have been read a second time."""
    return next(run for run in crawl.runs.order_by("-number") if not unread_parts(run))


def main() -> None:
    settings.ALLOWED_HOSTS = ["testserver"]
    print(STEPS[sys.argv[1]](CrawlJob.objects.get(name=sys.argv[2])))


if __name__ == "__main__":
    main()

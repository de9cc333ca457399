"""A product at work, for pictures: sites with names, and crawls in every state."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from crawling.datasets.catch_up import catch_up
from crawling.datasets.second_reading import read_run_again
from crawling.fetching.preresolver.slots import is_any_taken
from crawling.installation.identity import set_identity
from crawling.jobs.enqueue import open_job
from crawling.jobs.job_rows import open_jobs
from crawling.jobs.running import run_in_this_process
from crawling.models import CrawlJob, Inquiry, MinuteTotal, Page, Run, RunCount
from crawling.models.jobs import ENDED_STATES, RunState
from crawling.runs.crawls.revisions import edit_crawl
from crawling.runs.housekeeping.deletion import delete_crawl
from crawling.runs.start import start_run
from crawling.runs.steering import pause, stop
from crawling.uses.copies.jobs import COPIES, PASSAGES, TEXT_COPIES, request_text_search
from crawling.uses.link_graph.jobs import LINK_GRAPH
from crawling.uses.revisits.planner import plan_crawl
from crawling.uses.withdrawals.file_removal import remove_records
from crawling.uses.withdrawals.withdrawing import withdraw_pages
from tests.browser.house import MOST, make_crawl
from tests.crawling.reading import read_when_idle
from tests.every_page import furnish_others, use_pages
from tests.nameserver import NameServer
from tests.servers import Reply, Request, serve_site
from tests.stack import BACKGROUND, SCHEDULER, WORKER, running_stack, wait_until

PORT = 8010
AHEAD = ["resolve_ahead", "--skip-checks"]
HTML = {"Content-Type": "text/html; charset=utf-8"}
TOPICS = (
    "Installing", "Configuration", "Queries", "Indexes", "Transactions", "Backup", "Replication",
    "Monitoring", "Extensions", "Security", "Upgrading", "Performance", "Types", "Functions",
)  # fmt: skip
PARTS = ("guide", "reference", "tutorial", "news")
WORDS = (
    "table", "index", "row", "page", "query", "plan", "lock", "server", "client", "value", "column",
    "backup", "log", "file", "user", "role", "schema", "view", "trigger", "function", "cursor",
    "buffer", "cache", "thread", "process", "signal", "socket", "memory", "book",
)  # fmt: skip
#: chapters of a site that go wrong, by number
BROKEN = {7: 404, 11: 500, 13: 410, 17: 301, 19: 403}


@dataclass
class TownSite:
    """A site of so many pages; from page number `hold_at` on, answers wait for `enough`."""

    name: str
    address: str
    pages: int = 120
    hold_at: int | None = None
    is_closed: bool = False
    #: whether its pages link otherwise than before
    is_new_edition: bool = False
    enough: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://{self.name}:{PORT}/"

    def path(self, number: int) -> str:
        part = PARTS[number % len(PARTS)]
        topic = TOPICS[number // len(PARTS) % len(TOPICS)].lower()
        return f"/{part}/{topic}/{number}"

    def answer(self, request: Request) -> Reply:
        if self.is_closed:
            return 401, HTML, "<title>Log in</title>"
        if request.path == "/":
            return self.page(0)
        if request.path == "/robots.txt":
            return 200, {"Content-Type": "text/plain"}, "User-agent: *\nDisallow: /private/\n"
        if request.path == "/logo.png":
            return 404, HTML, "<title>Not found</title>"
        path = request.path.removeprefix("/print")
        number = path.rpartition("/")[2]
        if not number.isdigit() or int(number) > self.pages or self.path(int(number)) != path:
            return 404, HTML, "<title>Not found</title>"
        return self.page(int(number))

    def page(self, number: int) -> Reply:
        if self.hold_at is not None and number >= self.hold_at:
            self.enough.wait()
        status = BROKEN.get(number % 23, 200)
        if status == 301:
            return 301, {"Location": self.path(number + 1)}, ""
        if status != 200:
            return status, HTML, "<title>An error</title>"
        chance = random.Random(f"{self.name}{number}")
        links = [self.path(one) for one in range(number + 1, number + 6)] + ["/private/staff"]
        links += ["http://elsewhere.example.org/"] * (number % 5 == 0)
        links += [f"/print{self.path(number)}"] * (number % 12 == 0)
        links += [f"{self.path(number + 1)}#summary"] * (number % 9 == 0)
        if self.is_new_edition and number % 6 == 0:
            links[1:3] = [self.path(number + 40), "/reference/types/52"]
        items = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
        text = "".join(f"<p>{' '.join(chance.choices(WORDS, k=60))}</p>" for _ in range(12))
        title = (
            f"{TOPICS[number // len(PARTS) % len(TOPICS)]}, {PARTS[number % len(PARTS)]} {number}"
        )
        return (
            200,
            HTML,
            f'<!doctype html><html lang="en"><title>{title}</title>'
            f'<img src="/logo.png" alt="Logo"><article class="h-entry"><h1 id="top" id="top" '
            f'class="p-name">{title}</h1>{text}<a class="p-author h-card" href="/">Ada Byron</a>'
            f"</article>{self.table(number)}<ul>{items}</ul></html>",
        )

    def table(self, number: int) -> str:
        """Figures that some pages have."""
        chance = random.Random(number)
        rows = "".join(
            f"<tr><th>{word}<td>{chance.randrange(1000)}<td>{chance.random():.2f}"
            for word in WORDS[:9]
        )
        head = "<caption>Sizes</caption><tr><th>Object<th>Rows<th>Seconds"
        return f"<table>{head}{rows}</table>" if number % 4 == 0 else ""


@contextmanager
def serving_town(names: NameServer) -> Iterator[dict[str, TownSite]]:
    """Serve the sites, each under its name and address."""
    sites = {
        "manual": TownSite("docs.example.net", "127.0.0.2", pages=150),
        "news": TownSite("news.example.net", "127.0.0.3", pages=3000, hold_at=97),
        "library": TownSite("library.example.net", "127.0.0.4", pages=6000, hold_at=181),
        "shop": TownSite("shop.example.net", "127.0.0.5", pages=4000),
        "museum": TownSite("museum.example.net", "127.0.0.6", pages=60),
        "intranet": TownSite("intranet.example.net", "127.0.0.7", is_closed=True),
    }
    with ExitStack() as stack:
        for site in sites.values():
            names.hosts[site.name] = [site.address]
            served = stack.enter_context(serve_site({}, address=site.address, port=PORT))
            served.reply = site.answer
        try:
            yield sites
        finally:
            for site in sites.values():
                site.enough.set()


@contextmanager
def working(names: NameServer, tmp_path: Path) -> Iterator[None]:
    """A scheduler, workers and a pre-resolver."""
    server = "{}:{}".format(*names.address)
    with running_stack(tmp_path, DNS_SERVERS=server) as stack:
        for command in (SCHEDULER, WORKER, WORKER, BACKGROUND, AHEAD):
            stack.start(command)
        wait_until(is_any_taken)
        yield


def fill(sites: dict[str, TownSite], *, by: User) -> dict[str, CrawlJob]:
    """Crawls in each state, by name."""
    set_identity("townbot", "https://crawls.example.net/about")
    crawls = {
        "manual": make_crawl("Database manual", sites["manual"].url, by=by, max_pages=400),
        "museum": make_crawl("Museum catalogue", sites["museum"].url, by=by),
        "intranet": make_crawl("Intranet", sites["intranet"].url, by=by),
    }
    for name in crawls:
        run_until(crawls[name], lambda run: run.state in ENDED_STATES)
    sites["manual"].is_new_edition = True
    run_until(crawls["manual"], lambda run: run.state in ENDED_STATES)
    crawls["news"] = make_crawl(
        "Town news", sites["news"].url, by=by, batch_size=20, max_pages=2000, claim=MOST
    )
    run_until(crawls["news"], lambda run: fetched(run) >= 80)
    pause(crawls["news"], by=by)
    sites["news"].enough.set()
    wait_until(lambda: crawls["news"].runs.get().state == RunState.PAUSED)
    crawls["library"] = make_crawl(
        "City library", sites["library"].url, by=by, batch_size=20, claim=MOST
    )
    run_until(crawls["library"], lambda run: fetched(run) >= 160)
    crawls["shop"] = make_crawl("Shop prices", sites["shop"].url, by=by, claim=MOST)
    start_run(crawls["shop"], by=by)
    crawls["stopped"] = make_crawl("Museum, images only", sites["museum"].url, by=by)
    start_run(crawls["stopped"], by=by)
    stop(crawls["stopped"], by=by)
    crawls["draft"] = make_crawl(
        "Parish registers of the northern counties, 1780 to 1907", sites["museum"].url, by=by
    )
    for age, name in enumerate(["library", "news", "museum", "manual"], start=1):
        grow_older(crawls[name], minutes=22 * age)
    fill_minutes()
    return crawls


def fetched(run: Run) -> int:
    return sum(run.counts.values_list("fetched", flat=True))


def run_until(crawl: CrawlJob, condition: Callable[[Run], object]) -> None:
    run = start_run(crawl, by=crawl.created_by)

    def met() -> object:
        run.refresh_from_db()
        return condition(run)

    wait_until(met, seconds=300)


def grow_older(crawl: CrawlJob, *, minutes: int) -> None:
    """Let the latest run have begun so long ago, and spread its counts over these minutes."""
    now = timezone.now()
    run = crawl.runs.get(is_latest=True)
    lasted = minutes if run.finished_at is None else minutes // 2
    began = now - timedelta(minutes=minutes)
    Run.objects.filter(pk=run.pk).update(
        started_at=began,
        finished_at=run.finished_at and began + timedelta(minutes=lasted),
    )
    spread(run, began.replace(second=0, microsecond=0), lasted)


COLUMNS = ("discovered", "fetched", "succeeded", "failed", "excluded", "bytes")


def spread(run: Run, began: datetime, minutes: int) -> None:
    """Share a run's counts out over its minutes, some more, some less."""
    rows = list(run.counts.all())
    sums = {name: sum(getattr(row, name) for row in rows) for name in COLUMNS}
    chance = random.Random(run.pk)
    weights = [chance.uniform(0.4, 1.6) for _ in range(minutes)]
    latest = max(rows, key=lambda row: row.minute)
    left = dict(sums)
    for number, weight in enumerate(weights[:-1]):
        part = {name: int(sums[name] * weight / sum(weights)) for name in COLUMNS}
        for name in COLUMNS:
            left[name] -= part[name]
        RunCount.objects.create(
            run=run,
            process_number=latest.process_number,
            minute=began + timedelta(minutes=number),
            **part,
        )
    run.counts.filter(pk__in=[row.pk for row in rows if row.pk != latest.pk]).delete()
    RunCount.objects.filter(pk=latest.pk).update(
        minute=began + timedelta(minutes=minutes - 1), **left
    )


def fill_minutes() -> None:
    """Let the last day have been busy."""
    now = timezone.now().replace(second=0, microsecond=0)
    chance = random.Random(1)
    MinuteTotal.objects.all().delete()
    MinuteTotal.objects.bulk_create(
        MinuteTotal(
            minute=now - timedelta(minutes=age),
            fetched=(pages := int(900 + 500 * chance.random() - age * 0.3)),
            failed=int(chance.random() * 30),
            discovered=pages * 3,
            bytes=pages * 41_000,
        )
        for age in range(90, 1440)
    )


def check_and_withdraw(crawl: CrawlJob, *, by: User) -> None:
    """Let the links of the crawl's runs be known, the latest read again and its link graph
    computed, its certificate end soon, and some of its pages be withdrawn.
    """
    for run in crawl.runs.all():
        catch_up(run.pk)
    latest = crawl.runs.get(is_latest=True)
    read_run_again(latest.pk)
    read_when_idle(latest.pk)
    # as of a site that has HTTPS on another port, too
    latest.queues.update(certificate_ends_at=timezone.now() + timedelta(days=9, hours=5))
    for kind, text, reason, at_once in (
        ("pattern", "/news/security/", "Names a person who asked for it to be taken down.", False),
        ("page", f"{crawl.seeds[0]}tutorial/backup/22", "Published by mistake.", True),
    ):
        withdrawal = withdraw_pages(
            crawl, None, kind=kind, text=text, reason=reason, by=by, at_once=at_once
        )
        if at_once:
            remove_records(withdrawal.pk)
    run_in_this_process(open_job(LINK_GRAPH, latest, by=None))  # a withdrawal forgets it


def request_copies(crawl: CrawlJob, site: TownSite, page: Page, *, by: User) -> int:
    """Let the pages of copies have their answers; returns the question with a text's id."""
    old = crawl.runs.get(number=1).pages.get(url__url=page.url.url)
    paragraphs = re.findall("<p>(.*?)</p>", site.page(8)[2])
    text = request_text_search("\n".join(["Of our own.", *paragraphs[:3]]), page.run, by=by)
    viewer, place = Client(), f"/crawls/{crawl.pk}/copies/"
    viewer.force_login(by)
    for asked in (place, f"{place}passages/{old.pk}/{page.pk}/"):
        assert viewer.get(asked).status_code == 200
    kinds = (COPIES.name, TEXT_COPIES.name, PASSAGES.name)
    asked_for = Inquiry.objects.filter(kind__in=kinds)
    wait_until(lambda: not asked_for.filter(ended_at=None).exists())
    wait_until(lambda: not open_jobs().exists())
    return text.pk


def values_of(
    crawls: dict[str, CrawlJob], sites: dict[str, TownSite], *, by: User
) -> dict[str, object]:
    """The values that the addresses of all pages need: as `tests.every_page.furnish` gives them."""
    mistake = make_crawl("A mistake", sites["museum"].url, by=by)
    delete_crawl(mistake, by=by)
    manual = crawls["manual"]
    old, new = (
        Page.objects.get(run=run, url__url__endswith="/guide/queries/8")
        for run in manual.runs.order_by("number")
    )
    check_and_withdraw(manual, by=by)
    # later than its runs, which request all pages so
    plan_crawl(edit_crawl(manual, {"visits_a_day": 200}, by=by).pk)
    use_pages(new, by=by)
    values = furnish_others(manual, crawls["draft"], by)
    values["text"] = request_copies(manual, sites["manual"], new, by=by)
    return (
        values
        | {name: crawl.pk for name, crawl in crawls.items()}
        | {
            "kind": "crawl",
            "deleted": mistake.pk,
            "crawl": manual.pk,
            "address": new.url.url,
            "url": new.pk,
            "old": old.pk,
            "new": new.pk,
        }
    )

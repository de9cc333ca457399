"""Every page of the dashboard, from the table of routes, in an installation that has at least one
of every kind of object.
"""

from __future__ import annotations

import re
from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from allocation.models import Pool
from allocation.services import ensure_share
from crawling.datasets.catch_up import catch_up
from crawling.datasets.second_reading import read_run_again
from crawling.jobs.enqueue import open_job
from crawling.jobs.job_rows import end_job
from crawling.jobs.kinds import OF_TABLES, kinds_of_runs
from crawling.jobs.running import run_in_this_process, run_job
from crawling.models import ArchiveFile, BackgroundJob, CrawlJob, Host, Page, Run, Team
from crawling.models.inquiries import InquiryKind
from crawling.previews.inquiries import start_inquiry
from crawling.runs.crawls.blocklist import add_entry
from crawling.runs.crawls.revisions import edit_crawl
from crawling.runs.crawls.saved_views import save_view
from crawling.runs.crawls.schedules import set_schedule
from crawling.runs.crawls.templates import save_template
from crawling.runs.housekeeping.deletion import delete_crawl
from crawling.runs.start import start_run
from crawling.runs.steering import pause
from crawling.uses.alerts.models import Delivery, Listener
from crawling.uses.checkpoints.jobs import CHECKPOINT
from crawling.uses.collections.changes import (
    CollectionFields,
    add_members,
    create_collection,
)
from crawling.uses.collections.jobs import request_file
from crawling.uses.collections.models import Collection
from crawling.uses.copies.jobs import request_clusters, request_text_search
from crawling.uses.copies.pages import ROWS
from crawling.uses.exports.jobs import LATEST_MIRROR, MIRROR
from crawling.uses.exports.state import request_export
from crawling.uses.extraction.asked import request_tables
from crawling.uses.extraction.extractors import save_extractor
from crawling.uses.extraction.jobs import open_extraction
from crawling.uses.imports.jobs import IMPORT
from crawling.uses.revisits.planner import plan_crawl
from crawling.uses.seed_sources.sources import SeedSourceFields, create_source
from crawling.uses.watches.watching import WatchFields, create_watch
from crawlsite.tokens import make_token
from dnscache import store
from dnscache.models import DnsDropped
from dnscache.protocol.answers import DnsAnswer, DnsStatus, Reply
from experiments.store import make_experiment
from tests.browser.house import make_crawl
from tests.crawling.conftest import do_shifts
from tests.test_roles import PATHS, ROUTES

#: addresses whose answers are files, or parts of a page, or pages with a frame of their own
NO_PAGES = {
    "crawls/<int:pk>/pages/<int:url>/content/",
    "crawls/<int:pk>/pages/<int:url>/picture/<slug:kind>/",
    "crawls/<int:pk>/pages/<int:url>/rendering/",
    "crawls/<int:pk>/compare/<int:old>/<int:new>/pictures/",
    "crawls/<int:pk>/shown/",
    "stored/<str:token>/<int:number>/",
    "crawls/<int:pk>/pages/<int:url>/fields/page/",
    "crawls/<int:pk>/pages/<int:url>/record/",
    "crawls/<int:pk>/pages/<int:url>/document/",
    "crawls/<int:pk>/archive/<int:number>/",
    "crawls/<int:pk>/replay/",
    "attention/count/",
    "crawls/<int:pk>/lag/",
    "crawls/<int:pk>/links/counted/",
    "crawls/schedules/dates/",
    "login/",
    "shared/<slug:token>/",
    "watches/<str:token>/feed.atom",
    "shared/collections/<slug:token>/",
    "shared/collections/<slug:token>/pages/<int:number>/",
    "shared/collections/<str:token>/stored/<int:number>/",
    "news/<str:token>/feed.atom",
    "api/v1/",
}
ROUTES_OF_PAGES = sorted(
    route
    for route, methods in ROUTES.items()
    if "GET" in methods
    and (not route or route.endswith("/"))
    and route not in NO_PAGES
    and not route.startswith("admin/")
)
#: what a page is about if not a crawl, by the beginning of its address
OWNERS = (
    *("alerts", "collections", "deleted", "experiments", "extractors", "hosts", "resources"),
    *("teams", "users"),
)
#: what else a page shows with these parameters
ASKED = {
    "crawls/": ["?state=paused", "?q=nothing+like+it", "?sort=-failed"],
    "crawls/new/": ["?clone={crawl}", "?for=data&extractor=Books"],
    "crawls/url/": ["?u={address}", "?u={address}&crawl={crawl}", "?u=nonsense"],
    "crawls/<int:pk>/not-fetched/": ["?why=f404", "?why=rule-scope"],
    "crawls/<int:pk>/links/": [
        "?kind=redirected",
        "?kind=slow",
        "?kind=fragment",
        "?kind=certificate",
        "?kind=html",
        "?kind=broken&change=new",
        "?kind=broken&change=mended",
        "?show=all",
        "?show=media",
        "?show=hosts",
        "?target=http://a.test/",
    ],
    "crawls/<int:pk>/graph/": [
        "?show=hosts&sort=in_links",
        "?show=components&kind=strong",
        "?show=drawing&q=elsewhere",
        "?q=nothing+like+it",
    ],
    "crawls/<int:pk>/structured-data/": [
        "?kind=metadata&name=title",
        "?kind=image",
        "?kind=microformats",
        "?page=http://a.test/",
    ],
    "crawls/<int:pk>/pages/": ["?status=200", "?q=nothing+like+it"],
    "crawls/<int:pk>/pages/<int:url>/fields/": ["?rules=name+%3D+h1"],
    "crawls/<int:pk>/compare/": ["?kind=changed"],
    "crawls/<int:pk>/frontier/": ["?q=nothing+like+it"],
    "collections/": ["?q=nothing+like+it"],
    "collections/add/": ["?crawl={crawl}", "?page={url}"],
    "collections/<int:pk>/": ["?sort=-pages", "?q=nothing+like+it"],
    "collections/<int:pk>/captures/": ["?u={address}", "?u=nonsense"],
    "hosts/": ["?state=blocked", "?q=nothing+like+it"],
    "search/": ["?q=nothing+like+it", "?q=book"],
    "search/text/": ["?q=nothing+like+it", "?q=book", '?q="', "?q=book&crawl={crawl}&runs=all"],
    "dns/why/": ["?host=www.example.com", "?host=silent.example.com"],
    "dns/": ["?domain=example.com", "?q=nothing+like+it", "?status=evicted"],
}


def addresses(values: dict[str, object], *, asked: bool = True) -> list[str]:
    """The addresses of all pages, and of their variants with the parameters `asked`. values: as
    `furnish` returns them.
    """
    found = []
    for route in ROUTES_OF_PAGES:
        names = re.findall(r"%\((\w+)\)s", PATHS[route])
        owner = next(
            (
                key
                for key in OWNERS
                if f"/{key}/" in PATHS[route].removeprefix("/administration")[:19]
            ),
            "crawl",
        )
        path = PATHS[route] % {name: values.get(name, values[owner]) for name in names}
        queries = ASKED.get(route, ()) if asked else ()
        found += [path, *(path + query.format(**values) for query in queries)]
    return found


#: data for programs that a page may have, from which a table is read
DATA = """<article class=h-entry><h1 class=p-name>Book A</h1>
<a class="p-author h-card" href=/>Ann</a><img src=/a.png alt="A book">
<time class=dt-published datetime=2026-01-02>2 January</time></article>
<table><caption>Prices</caption><tr><th>Edition<th>Price<tr><td>first<td>5</table>"""


def furnish(site, *, by: User, data: str = "") -> dict[str, object]:
    """Make a crawl of two runs that differ, one that is paused, and one of every other kind of
    object; return their ids by name. data: HTML that is added to a page.
    """
    site.pages["/"] = (
        '<title>Books</title><a href="/a">a</a> <a href="/gone">gone</a> <a '
        'href="http://elsewhere.test/">out</a>'
    )
    site.pages["/a"] = f"<title>Book A</title>first{data}"
    crawl = make_crawl("Books & 'such'", f"{site.url}/", by=by, visits_a_day=10)
    first = do_shifts(start_run(crawl, by=by))
    site.pages["/a"] = f"<title>Book A</title>second{data}"
    second = do_shifts(start_run(crawl, by=by))
    catch_up(second.pk)
    read_run_again(second.pk)
    for kind in kinds_of_runs().values():
        if kind.effects is OF_TABLES:
            run_in_this_process(open_job(kind, second, by=None))
    plan_crawl(crawl.pk)
    edit_crawl(crawl, {"max_pages": 100}, by=by)
    resting = make_crawl("The paused one", f"{site.url}/a", by=by)
    start_run(resting, by=by)
    pause(resting, by=by)
    gone = make_crawl("A mistake", f"{site.url}/", by=by)
    delete_crawl(gone, by=by)
    return furnish_others(crawl, resting, by) | {
        "kind": "crawl",
        "deleted": gone.pk,
        "crawl": crawl.pk,
        "address": f"{site.url}/a",
        "url": _page(second),
        "old": _page(first),
        "new": _page(second),
    }


def use_pages(page: Page, *, by: User) -> None:
    """Make data for pages that show what is computed from the latest run of a crawl and from one of
    its pages: mirrors, tables, watches, collections, sources of seeds, extracted fields, clusters
    of copies.
    """
    run = page.run
    for kind in (MIRROR, LATEST_MIRROR):
        run_job(request_export(run, kind, by=by).pk)
    clusters = request_clusters(run, None, near=True, skip=0, most=ROWS, by=by)
    for asked in (request_tables(page, by=by), clusters):
        run_job(asked.pk)
    create_watch(run.crawl, WatchFields("page", page.url.url), by=by)
    for collection in Collection.objects.all():
        add_members(collection, pages=[page.pk], by=by)
        run_job(request_file(collection, by=by).pk)
    create_source(run.crawl, SeedSourceFields("feed", f"{page.url.url}.xml"), by=by)
    run_in_this_process(open_extraction(run, {"title": "title"}, by=by))


def _page(run: Run) -> int:
    return Page.objects.get(run=run, url__url__endswith="/a").pk


def furnish_others(crawl: CrawlJob, resting: CrawlJob, by: User) -> dict[str, object]:
    """Make one of every other kind of object, for a crawl with runs and one that is not at work."""
    now = timezone.now()
    listener = Listener.objects.create(
        name="Chat", url="https://chat.example.org/", events=["failed"], secret="s" * 20
    )
    Delivery.objects.create(
        listener=listener, crawl=crawl, event="failed", body="{}", next_try_at=now
    )
    taken = {"taken_at": now.isoformat(), "directory": "/checkpoints/1", "machine": "crawler-1"}
    checkpoint = open_job(CHECKPOINT, crawl.runs.first(), by=None)
    end_job(checkpoint, {**taken, "urls": 3, "bytes": 1000})
    spec = {"files": ["books.warc.gz"], "name": "Old books", "bytes": 9000}
    asked = {"kind": IMPORT.name, "spec": spec, "by": by}
    read = {"done": 4000, "of": 9000, "answers": 12}
    BackgroundJob.objects.create(**asked, began_at=now, progress=read)
    BackgroundJob.objects.create(**asked, ended_at=now, trouble="books.warc.gz: it breaks off")
    set_schedule(resting, {"every_minutes": 60}, by=by)
    save_template(crawl, "Books", by=by)
    extractor = save_extractor("Books", {"title": "h1"}, by=by)
    save_view(by, "Failed", "state=failed")
    make_token(by, "nightly import")
    add_entry("domain", "example.edu", "asked for by its owner", by=by)
    fill_names()
    experiment = make_experiment(requests=4, bound_seconds=0.3, seed=1, policies=["naive"], by=by)
    number = ArchiveFile.objects.filter(run__crawl=crawl).earliest("pk").pk
    host = Host.objects.earliest("pk").pk
    question = {"order": {"seeds": crawl.seeds}, "answers": {}}
    inquiry = start_inquiry(InquiryKind.TEST_FETCH, question, by=by)
    run = crawl.runs.first()
    text = request_text_search("five words in a row", run, by=by)
    collection = create_collection(CollectionFields("Books of the town", "All its sites"), by=by)
    add_members(collection, crawls=[crawl.pk, resting.pk], by=by)
    return {
        "collections": collection.pk,
        "text": text.pk,
        "hosts": host,
        "experiments": experiment.pk,
        "alerts": listener.pk,
        "extractors": extractor.pk,
        "resources": Pool.objects.earliest("pk").pk,
        "share": ensure_share(pool=Pool.objects.earliest("pk").pk, ref="team/a", name="Library").pk,
        "users": User.objects.create_user("ada", password="s3cret").pk,
        "teams": Team.objects.create(name="Library & Archive").pk,
        "number": 1,
        "inquiry_id": inquiry.pk,
        "document": "glossary",
        "page": "capacity",
        "file": number,
        "resting": resting.pk,
    }


def fill_names() -> None:
    """Make names that were found, that failed, and that were evicted."""
    now = timezone.now().timestamp()
    good, bad = (
        Reply(DnsStatus.OK, ("192.0.2.1",), ttl=300, resolve_ms=40),
        Reply(DnsStatus.TIMEOUT, resolve_ms=8000, error="it said nothing"),
    )
    store.write_answers(
        [
            DnsAnswer("www.example.com", good, now, now + 300, None, 0),
            DnsAnswer("silent.example.com", bad, now, now, now + 40, 1),
        ]
    )
    DnsDropped.objects.create(
        name="old.example.com",
        region=2,
        weight=0.01,
        why="light, and unused for long",
        at=timezone.now() - timedelta(hours=1),
    )

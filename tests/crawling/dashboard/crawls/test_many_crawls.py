"""The list of crawls where there are many: pages that stand still, tags, views of one's own, and
one action on many.
"""

from __future__ import annotations

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from crawling.base.errors import BadOrder
from crawling.dashboard.crawls.filter import CrawlFilter
from crawling.dashboard.crawls.listing import MOST_SUMMED, list_crawls
from crawling.dashboard.crawls.state_counts import CrawlCount
from crawling.models import CrawlJob, Run
from crawling.orders.seeds import BadTags, read_tags
from crawling.runs.crawls.creation import clone_crawl, create_crawl
from crawling.runs.crawls.tags import tag_crawls
from crawling.runs.start import start_run
from tests.crawling.pages import browser, soup

pytestmark = pytest.mark.slow

LIST, BULK, VIEWS = reverse("crawling:crawls"), reverse("crawling:bulk"), reverse("crawling:views")


@pytest.fixture
def operator(db):
    return browser("operator")


@pytest.fixture
def rows(db):
    """Return a function that makes bare rows of crawls: most drafts, every third with a run that
    has ended.
    """

    def make(count):
        crawls = CrawlJob.objects.bulk_create(
            CrawlJob(
                name=f"crawl {n:03}",
                seeds=[f"http://a{n}.test/"],
                delay_seconds=0,
                batch_size=1,
                claim={},
            )
            for n in range(count)
        )
        Run.objects.bulk_create(
            Run(crawl=crawl, number=1, state="finished") for crawl in crawls[::3]
        )
        return crawls

    return make


def test_page_after_page_shows_every_crawl_once_though_crawls_come_and_go(rows):
    crawls = {crawl.pk for crawl in rows(120)}

    for number, sort in enumerate(
        ["-made", "made", "name", "-name", "state", "-state", "-started", "fetched"]
    ):
        seen, after = [], ""
        while after is not None:
            listing = list_crawls(CrawlFilter.read({"sort": sort, "after": str(after)}))
            seen += [view.id for _, view in listing.crawls]
            after = listing.following
            CrawlJob.objects.create(
                name=f"new {number} {len(seen)}", seeds=[], delay_seconds=0, batch_size=1, claim={}
            )
        assert len(seen) == len(set(seen)), sort
        assert crawls <= set(seen), sort


def test_a_crawl_that_was_started_again_is_listed_once_by_its_latest_run(order, work_off):
    run = start_run(create_crawl(order("http://127.0.0.1:8900/")))
    Run.objects.filter(pk=run.pk).update(state="stopped")
    start_run(run.crawl)

    listing = list_crawls(CrawlFilter())

    assert [(view.run, view.state) for _, view in listing.crawls] == [(2, "queued")]
    assert listing.states == {"queued": CrawlCount(1)}


def test_a_search_that_finds_too_many_counts_so_far_and_says_that_there_are_more(
    operator, rows, monkeypatch
):
    monkeypatch.setattr("crawling.dashboard.crawls.state_counts.MOST_COUNTED", 4)
    rows(15)

    page = soup(operator.get(LIST, {"q": "crawl"}))
    of_a_state = soup(operator.get(LIST, {"q": "crawl", "state": "draft"}))
    few = soup(operator.get(LIST, {"q": "crawl 00", "state": "finished"}))

    assert page.select_one(".tabs li").get_text(" ", strip=True) == "all 4+"
    assert "draft" in [tab.get_text(" ", strip=True) for tab in page.select(".tabs li")]
    assert "All 4+ found" in of_a_state.get_text()
    assert "All 4 found" in few.get_text()


def test_all_crawls_are_counted_by_state_up_to_a_bound_and_drafts_only_below_it(
    operator, rows, monkeypatch
):
    rows(15)
    exact = list_crawls(CrawlFilter()).states
    monkeypatch.setattr("crawling.dashboard.crawls.state_counts.MOST_COUNTED", 4)

    page = soup(operator.get(LIST))
    of_drafts = soup(operator.get(LIST, {"state": "draft"}))
    told = operator.get("/api/v1/overview").json()["states"]

    tabs = [tab.get_text(" ", strip=True) for tab in page.select(".tabs li")]
    assert exact == {"draft": CrawlCount(10), "finished": CrawlCount(5)}
    assert tabs == ["all 4+", "draft", "finished 4+"]
    assert told == {"draft": None, "finished": 4}
    assert len(of_drafts.select("table.crawls tbody")) == 10


@pytest.mark.parametrize("sort", ["-made", "name", "-fetched"])
def test_few_drafts_among_many_crawls_are_looked_for_once(rows, monkeypatch, sort):
    monkeypatch.setattr("crawling.dashboard.crawls.state_counts.MOST_COUNTED", 4)
    crawls = rows(8)
    Run.objects.bulk_create(
        Run(crawl=crawl, number=1, state="finished") for crawl in (crawls[1], crawls[2])
    )

    with CaptureQueriesContext(connection) as queries:
        drafts = list_crawls(CrawlFilter(state="draft", sort=sort))

    assert drafts.matching == CrawlCount(3)
    assert {crawl.name for crawl, _ in drafts.crawls} == {"crawl 004", "crawl 005", "crawl 007"}
    assert sum("EXCEPT SELECT crawl_id" in query["sql"] for query in queries) == 1


def test_too_many_to_add_up_are_not_sorted_by_counts_and_the_page_says_so(
    operator, rows, monkeypatch
):
    monkeypatch.setattr("crawling.dashboard.crawls.listing.MOST_SUMMED", 2)
    rows(3)

    page = soup(operator.get(LIST, {"sort": "-fetched"}))

    assert "too many to be sorted by their counts" in page.get_text()
    assert [head.get_text(strip=True) for head in page.select("thead th") if head.a] == [
        "Crawl",
        "State",
        "Started",
    ]
    assert MOST_SUMMED > 1000


def test_tags_are_added_to_many_found_by_and_copied_by_a_clone(operator, order):
    atlas, busy = (
        create_crawl(order("http://127.0.0.1:8900/", name=name)) for name in ("Atlas", "Busy")
    )
    answer = operator.post(
        BULK,
        {
            "action": "tag",
            "crawl": [atlas.pk],
            "tags": "weekly, maps,weekly",
            "confirmed": "yes",
            "next": LIST,
        },
        follow=True,
    )

    assert "1 of 1 crawls have changed their tags." in answer.content.decode()
    found = soup(operator.get(LIST, {"tag": "maps"}))
    assert [row.th.find("a").get_text() for row in found.select("main tbody")] == ["Atlas"]
    assert [tag.get_text() for tag in found.select("tbody .tag")] == ["maps", "weekly"]
    atlas.refresh_from_db()
    assert clone_crawl(atlas).tags == ["maps", "weekly"]
    assert tag_crawls([atlas.pk, busy.pk], remove=["weekly"]) == 1
    assert LogEntry.objects.filter(change_message__contains='"tagged"').count() == 3


def test_tags_that_cannot_be_kept_are_refused_in_words(order):
    with pytest.raises(BadTags, match="longer than 30"):
        read_tags("x" * 31)
    with pytest.raises(BadOrder, match="at most 20 tags"):
        tag_crawls(
            [create_crawl(order("http://127.0.0.1:8900/")).pk], add=[str(n) for n in range(21)]
        )


@pytest.mark.parametrize(("action", "done"), [("stop", "stopped"), ("abort", "aborted")])
def test_ending_many_is_asked_first_and_leaves_those_that_cannot_be(operator, order, action, done):
    crawls = [
        create_crawl(order("http://127.0.0.1:8900/", name=name)) for name in ("Draft", "One", "Two")
    ]
    for crawl in crawls[1:]:
        start_run(crawl)
    asked = soup(
        operator.post(
            BULK, {"action": action, "crawl": [crawl.pk for crawl in crawls], "next": LIST}
        )
    )

    assert "1 of those chosen cannot be" in asked.get_text(" ")
    assert "2 queued URLs and all pages are kept" in asked.main.get_text(" ", strip=True)
    assert Run.objects.filter(state="stopped").count() == 0
    fields = [(field["name"], field["value"]) for field in asked.select("main form input")]
    answer = operator.post(
        BULK, {name: [value for n, value in fields if n == name] for name, _ in fields}, follow=True
    )

    assert f"2 crawls are {done}." in answer.content.decode()
    none = soup(
        operator.post(BULK, {"action": action, "crawl": [crawls[0].pk], "next": LIST})
    ).main.get_text(" ", strip=True)
    words = " ".join(none.split())
    assert f"Nothing to {action} None of the 1 chosen can be: 1: draft; only a crawl" in words
    assert Run.objects.filter(state="stopped").count() == 2


def test_all_that_the_list_finds_are_paused_and_no_others(operator, order):
    for name in ("Atlas one", "Atlas two", "Busy"):
        start_run(create_crawl(order("http://127.0.0.1:8900/", name=name)))
    create_crawl(order("http://127.0.0.1:8900/", name="Atlas draft"))

    asked = soup(
        operator.post(BULK, {"action": "pause", "which": "all", "next": f"{LIST}?q=atlas"})
    )

    assert asked.h1.get_text() == "Pause 2 crawls"


def test_a_bulk_action_of_nothing_says_what_is_missing(operator):
    for body in (
        {},
        {"action": "explode"},
        {"action": "pause"},
        {"action": "tag", "crawl": "x", "confirmed": "1"},
    ):
        assert soup(operator.post(BULK, body, follow=True)).find(role="alert").get_text(), body


def test_a_view_is_saved_by_its_name_for_its_user_alone_and_forgotten(operator, order):
    create_crawl(order("http://127.0.0.1:8900/"))
    here = f"{LIST}?state=draft&q=a&after=7&nonsense=1"

    saved = operator.post(VIEWS, {"name": "my drafts", "next": here})

    assert saved.url == f"{LIST}?state=draft&q=a"
    page = soup(operator.get(LIST))
    assert page.select_one(".saved li a")["href"] == f"{LIST}?state=draft&q=a"
    assert not soup(browser("viewer").get(LIST)).select(".saved li")
    operator.post(VIEWS, {"forget": page.select_one(".saved li button")["value"], "next": LIST})
    assert not soup(operator.get(LIST)).select(".saved li")


def test_a_view_that_cannot_be_saved_is_refused_in_words(operator):
    for name, here, sentence in (
        ("", f"{LIST}?q=a", "Give the view a name"),
        ("x", LIST, "Filter, search or sort"),
    ):
        assert (
            sentence
            in operator.post(VIEWS, {"name": name, "next": here}, follow=True).content.decode()
        )


def test_a_view_is_shared_with_all_users_and_only_its_owner_forgets_it(order):
    owner, other = browser("operator"), browser("viewer")
    create_crawl(order("http://127.0.0.1:8900/"))
    for name, extra in (("Failed", {"is_shared": "1"}), ("Mine", {})):
        saved = {"name": name, "next": "/crawls/?state=failed", **extra}
        owner.post("/crawls/views/", saved)

    seen = [one["name"] for one in other.get("/api/v1/views").json()["items"]]
    row = soup(other.get("/crawls/")).select_one("form.saved li")

    assert seen == ["Failed"]
    assert row.a["href"] == "/crawls/?state=failed"
    assert "by operator" in " ".join(row.get_text(" ").split())
    assert row.button is None
    view = owner.get("/api/v1/views").json()["items"][0]
    assert (view["owner"], view["is_shared"]) == ("operator", True)
    assert other.delete(f"/api/v1/views/{view['id']}").status_code == 404
    other.post("/crawls/views/", {"forget": view["id"], "next": "/crawls/"})
    assert len(owner.get("/api/v1/views").json()["items"]) == 2

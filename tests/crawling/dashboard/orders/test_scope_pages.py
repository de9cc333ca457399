"""The pages of scope and limits, of the blocklist, and of why (not) a URL."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from crawling.base.errors import BadOrder
from crawling.models import (
    BlocklistEntry,
    CrawlJob,
    RobotsException,
    Run,
    RunTotal,
)
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.revisions import edit_crawl
from crawling.runs.start import start_run
from dnscache import store
from dnscache.protocol.answers import DnsAnswer, DnsStatus, Reply
from tests.crawling.pages import soup

pytestmark = pytest.mark.usefixtures("contexts")


@pytest.fixture
def crawl(order):
    crawl = create_crawl(
        order("http://127.0.0.1:8900/", max_pages=7, exclude=[r"\.zip$"], host_soft_bytes=2**21)
    )
    start_run(crawl)
    return crawl


@pytest.fixture
def boss_login(client, db):
    client.force_login(User.objects.create_superuser("boss"))


@pytest.fixture
def boss(client, crawl, boss_login):
    return client


def filled(page):
    """The fields that a browser would send back: only those that the page has."""
    form = soup(page).find("input", attrs={"name": "revision"}).find_parent("form")
    sent = {
        box["name"]: box.get("value", "")
        for box in form.select("input[name]")
        if box.get("type") not in {"checkbox", "radio"} or box.has_attr("checked")
    }
    sent |= {
        box["name"]: box.get_text().removeprefix("\n") for box in form.select("textarea[name]")
    }
    return sent | {
        box["name"]: (box.find("option", selected=True) or box.option)["value"]
        for box in form.select("select[name]")
    }


def test_rules_are_tested_and_saved_on_one_page_which_shows_who_edited_them(boss, crawl):
    here = f"/crawls/{crawl.pk}/scope/"
    CrawlJob.objects.update(team="Press")
    data = filled(boss.get(here))
    assert (data["max_pages"], data["exclude"], data["host_soft_megabytes"]) == (
        "7",
        r"\.zip$",
        "2",
    )

    data |= {"exclude": r"\.gz$", "urls": "http://127.0.0.1:8900/a.gz\nhttp://127.0.0.1:8900/a.zip"}
    tested = boss.post(here, {**data, "test": "1"}).context["tested"]
    assert [row.admits for row in tested] == [False, True]
    crawl.refresh_from_db()
    assert (crawl.revision, crawl.filters["exclude"]) == (1, [r"\.zip$"])

    page = boss.post(here, data, follow=True)
    crawl.refresh_from_db()
    assert (
        crawl.revision,
        crawl.filters["exclude"],
        crawl.max_pages,
        crawl.budget["host_soft_bytes"],
        crawl.team,
    ) == (2, [r"\.gz$"], 7, 2**21, "Press")
    assert "Revision 2: boss" in page.content.decode()
    assert "was edited meanwhile: revision 2 holds" in boss.post(here, data).content.decode()
    wrong = boss.post(here, {**data, "revision": "2", "include": "("}).content.decode()
    assert "no regular expression of RE2" in wrong
    assert r"\.gz$" in boss.get(f"/crawls/{crawl.pk}/").content.decode()


def test_an_edit_says_what_it_means_for_the_latest_run(boss, crawl):
    def saved(pages):
        here = f"/crawls/{crawl.pk}/scope/"
        page = soup(boss.post(here, {**filled(boss.get(here)), "max_pages": pages}, follow=True))
        return page.select_one(".flash").get_text().strip()

    active = saved("8")
    run = crawl.runs.get()
    Run.objects.update(state="finished", finished_at=timezone.now())
    RunTotal.objects.update_or_create(
        run=run, defaults={"fetched": 8, "succeeded": 8, "discovered": 1075}
    )
    limited = saved("9")
    RunTotal.objects.update(discovered=8)
    complete = saved("10")

    assert active == "Revision 2 is saved. The active run obeys it within seconds."
    assert limited == "Revision 3 is saved. Resume to fetch the other 1,067."
    assert complete == "Revision 4 is saved."


def test_a_new_crawls_scope_can_be_tested_before_it_is_made(boss):
    order = {
        "seeds": "http://a.test/manual/",
        "scope": "path",
        "urls": "http://a.test/manual/x\nhttp://a.test/",
        "delay_seconds": "1",
    }

    page = boss.post("/crawls/test-scope/", order).content.decode()

    assert "is in no directory of a start URL" in page
    assert page.count("state-safe") == 1


def test_the_blocklist_is_kept_on_a_page_with_reasons(boss, crawl):
    page = boss.post(
        "/crawls/blocklist/", {"kind": "regex", "text": "(?=x)", "reason": ""}
    ).content.decode()
    assert "The reason is required" in page

    boss.post(
        "/crawls/blocklist/", {"kind": "domain", "text": "example.net", "reason": "its owner asked"}
    )
    entry = BlocklistEntry.objects.get()
    page = boss.get("/crawls/url/?u=http://www.example.net/").content.decode()
    assert (
        "Excluded by rule 1 (blocklist), revision 1: entry "
        f"{entry.pk} of the blocklist, domain example.net: its owner asked" in page
    )

    boss.post(f"/crawls/blocklist/{entry.pk}/remove/")
    assert "It is empty" in boss.get("/crawls/blocklist/").content.decode()


def test_an_exception_from_robots_needs_a_reason_and_is_shown_among_the_settings(boss, crawl):
    here, settings = f"/crawls/{crawl.pk}/robots/", f"/crawls/{crawl.pk}/settings/"
    boss.post(here, {"host": "a.test", "hours": "24", "reason": " "})
    assert not RobotsException.objects.exists()

    boss.post(here, {"host": "A.test", "hours": "24", "reason": "agreed, ticket 4711"})
    assert "agreed, ticket 4711" in boss.get(settings).content.decode()

    boss.post(here, {"end": str(RobotsException.objects.get(host="a.test").pk)})
    assert "agreed, ticket 4711" not in boss.get(settings).content.decode()


def test_an_address_is_inspected_in_any_spelling(
    client, make_site, crawl_to_the_end, work_off, boss_login
):
    site = make_site({"/": '<a href="/a">a</a>', "/a": "text"})
    run = crawl_to_the_end(f"{site.url}/")
    work_off(start_run(run.crawl))
    typed = f"{site.url.upper()}/b/../a#part"

    page = soup(client.get("/crawls/url/", {"u": typed}))
    facts = {
        dt.get_text(): dt.find_next("dd").get_text(" ", strip=True)
        for dt in page.select(".inspected > dl dt")
    }
    assert facts == {
        "Normalised": f"{site.url}/a",
        "DNS": "Not needed: the host is an IP address, or a name without an owner.",
    }
    fetches = [
        [cell.get_text(" ", strip=True) for cell in row.find_all(["th", "td"])]
        for row in page.select("tbody tr")
    ]
    assert [row[0].rpartition(", ")[2] for row in fetches] == ["run 2", "run 1"]
    assert [(row[1], row[2], row[4]) for row in fetches] == [
        ("succeeded, 200, 4\xa0bytes", "1", f"{site.url}/")
    ] * 2
    assert client.get(page.find("a", string="snapshot")["href"]).status_code == 200
    told = client.get("/api/v1/url-history", {"url": typed}).json()
    assert [(met["run"], met["found_on"]) for met in told["items"]] == [
        (2, f"{site.url}/"),
        (1, f"{site.url}/"),
    ]


def test_an_address_tells_what_dns_knows_of_its_host(client, boss_login, db):
    store.write_answers(
        [
            DnsAnswer(
                "www.a.test",
                Reply(DnsStatus.OK, ("192.0.2.7",), ttl=300, upstream="192.0.2.53:53"),
                0.0,
                300.0,
                None,
                0,
            )
        ]
    )

    def dns(host):
        page = soup(client.get("/crawls/url/", {"u": f"http://{host}/"}))
        return " ".join(
            page.find("dt", string="DNS").find_next("dd").get_text(" ", strip=True).split()
        )

    assert dns("www.a.test").startswith("www.a.test has addresses: 192.0.2.7; resolved")
    assert dns("www.a.test").endswith("by 192.0.2.53:53")
    assert dns("other.test").startswith("Not looked up yet: other.test")


@pytest.mark.parametrize("nonsense", ["9" * 5000, "٣", "-1", ""])
def test_a_revision_that_is_no_number_counts_as_not_given(boss, crawl, nonsense):
    here = f"/crawls/{crawl.pk}/scope/"

    saved = boss.post(here, {**filled(boss.get(here)), "revision": nonsense}, follow=True)
    reverted = boss.post(f"/crawls/{crawl.pk}/revert/", {"number": nonsense}, follow=True)

    assert "Nothing was changed" in saved.content.decode()
    assert reverted.status_code == 200
    with pytest.raises(BadOrder, match="must be the number of the revision"):
        edit_crawl(crawl, {"revision": nonsense})

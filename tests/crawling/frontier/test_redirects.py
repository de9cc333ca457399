"""Redirects that lead to a document, and those that never do."""

from __future__ import annotations

from collections import Counter

import pytest

from crawling.models import RunCount, Url
from crawling.web.statuses import MOST_REDIRECTS, FetchStatus
from tests.crawling.fetching.pipeline.test_crawl_path import links

LOOP, NOWHERE = FetchStatus.REDIRECT_LOOP, FetchStatus.REDIRECT_NOWHERE


def moved(to, **headers):
    return 302, {"Location": to, **headers}, ""


def ends(run):
    """State and status of each URL by its path."""
    rows = Url.objects.filter(run=run).values_list("url", "state", "status")
    return {"/" + url.split("/", 3)[3]: (state, status) for url, state, status in rows}


def check_counts(run):
    """The counts are those of the rows."""
    states = Counter(Url.objects.filter(run=run).values_list("state", flat=True))
    totals = run.total
    assert (totals.succeeded, totals.failed, totals.discovered) == (
        states["s"],
        states["f"],
        states.total(),
    )
    by_status = {(row.state, row.status): row.urls for row in run.status_counts.exclude(urls=0)}
    assert by_status == Counter(Url.objects.filter(run=run).values_list("state", "status"))
    assert sum(RunCount.objects.filter(run=run).values_list("failed", flat=True)) == states["f"]


def test_a_redirect_to_itself_or_to_nowhere_has_failed_and_is_asked_for_once(
    make_site, crawl_to_the_end
):
    site = make_site(
        {"/": links("/self", "/nowhere"), "/self": moved("/self"), "/nowhere": moved("")}
    )

    run = crawl_to_the_end(f"{site.url}/")

    assert ends(run) == {"/": ("s", 200), "/self": ("f", LOOP), "/nowhere": ("f", NOWHERE)}
    assert Counter(site.paths) == {"/": 1, "/self": 1, "/nowhere": 1}
    check_counts(run)


@pytest.mark.parametrize("batch_size", [1, 100])
def test_a_loop_has_failed_as_a_whole_with_what_leads_into_it(
    make_site, crawl_to_the_end, batch_size
):
    pages = {"/in": moved("/a"), "/a": moved("/b"), "/b": moved("/c"), "/c": moved("/a")}
    site = make_site({"/": links("/in", "/c"), **pages})

    run = crawl_to_the_end(f"{site.url}/", batch_size=batch_size)

    assert ends(run) == {"/": ("s", 200), **dict.fromkeys(pages, ("f", LOOP))}
    assert Counter(site.paths) == dict.fromkeys(["/", *pages], 1)
    check_counts(run)


def test_a_chain_that_ends_nowhere_or_never_has_failed_as_a_whole(make_site, crawl_to_the_end):
    long = {f"/{hop}": moved(f"/{hop + 1}") for hop in range(MOST_REDIRECTS + 3)}
    site = make_site({"/": links("/x", "/0"), "/x": moved("/y"), "/y": moved("mailto:me"), **long})

    run = crawl_to_the_end(f"{site.url}/")

    found = ends(run)
    assert (found["/x"], found["/y"]) == (("f", NOWHERE), ("f", NOWHERE))
    too_many = {found[f"/{hop}"] for hop in range(MOST_REDIRECTS + 1)}
    assert too_many == {("f", FetchStatus.TOO_MANY_REDIRECTS)}
    check_counts(run)


@pytest.mark.parametrize("batch_size", [1, 100])
def test_a_loop_that_a_cookie_opens_is_entered_again(make_site, crawl_to_the_end, batch_size):
    def home(request):
        is_let_in = "seen=1" in request.headers.get("Cookie", "")
        return (200, {"Content-Type": "text/html"}, "inside") if is_let_in else moved("/gate")

    gate = moved("/home", **{"Set-Cookie": "seen=1"})
    pages = {"/in": moved("/home"), "/home": home, "/gate": gate}
    site = make_site({"/": links("/in"), **pages})

    run = crawl_to_the_end(f"{site.url}/", batch_size=batch_size, cookies=True)

    assert ends(run) == {
        **dict.fromkeys(("/", "/home"), ("s", 200)),
        **dict.fromkeys(("/in", "/gate"), ("s", 302)),
    }
    assert Counter(site.paths) == {"/": 1, "/in": 1, "/home": 2, "/gate": 1}
    assert run.pages.get(url__url__endswith="/home").status == 200
    check_counts(run)


@pytest.mark.parametrize("batch_size", [1, 100])
def test_a_loop_that_no_cookie_opens_ends(make_site, crawl_to_the_end, batch_size):
    pages = {"/in": moved("/a"), "/a": moved("/b", **{"Set-Cookie": "x=1"}), "/b": moved("/a")}
    site = make_site({"/": links("/in"), **pages})

    order = {"batch_size": batch_size, "cookies": True, "headers": {"X-Key": "a secret"}}
    run = crawl_to_the_end(f"{site.url}/", **order)

    assert ends(run) == {"/": ("s", 200), **dict.fromkeys(pages, ("f", LOOP))}
    assert site.paths.count("/a") <= 3
    check_counts(run)


def test_a_redirect_to_a_page_that_is_known_is_a_success(make_site, crawl_to_the_end):
    site = make_site(
        {
            "/": links("/page", "/old", "/older"),
            "/page": "x",
            "/old": moved("/page"),
            "/older": moved("/old"),
        }
    )

    run = crawl_to_the_end(f"{site.url}/")

    assert set(ends(run).values()) == {("s", 200), ("s", 302)}
    check_counts(run)


def test_a_page_behind_a_cookie_is_fetched(make_site, crawl_to_the_end):
    def gate(request):
        return (
            (200, {"Content-Type": "text/html"}, "inside")
            if "seen=1" in request.headers.get("Cookie", "")
            else moved("/", **{"Set-Cookie": "seen=1"})
        )

    site = make_site({"/": gate})

    assert ends(crawl_to_the_end(f"{site.url}/", cookies=True)) == {"/": ("s", 200)}
    assert site.paths == ["/", "/"]


def test_a_cookie_that_never_opens_is_not_asked_for_ever(make_site, crawl_to_the_end):
    site = make_site({"/": moved("/", **{"Set-Cookie": "seen=1"})})

    run = crawl_to_the_end(f"{site.url}/", cookies=True)

    assert ends(run) == {"/": ("f", LOOP)}
    assert len(site.paths) == 4

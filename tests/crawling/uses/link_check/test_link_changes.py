"""The links of each of two runs that the other has not, by page."""

from __future__ import annotations

from django.urls import reverse

from crawling.datasets.catch_up import catch_up
from crawling.runs.start import start_run
from crawling.uses.link_check import link_changes
from crawling.uses.link_check.link_changes import all_link_changes, list_link_changes
from tests.crawling.pages import browser, soup


def test_links_that_were_added_and_removed_are_listed_by_page(
    make_site, crawl_to_the_end, work_off, monkeypatch
):
    site = make_site(
        {
            "/": '<a href="/a">a</a><a href="/b">b</a><a href="/same">s</a>',
            "/a": '<a href="/x#one">x</a>',
            "/b": '<a href="/same">s</a>',
            "/same": '<a href="/">home</a><a href="/a">old words</a>',
        }
    )
    old = crawl_to_the_end(f"{site.url}/")
    site.pages |= {
        "/": '<a href="/same">s</a><a href="/a">a</a><a href="/new">n</a>',
        "/a": '<a href="/x#two">x</a>',
        "/same": '<a href="/a">new words</a><a href="/">home</a>',
        "/new": '<a href="/">home</a>',
    }
    new = work_off(start_run(old.crawl))
    for run in (old, new):
        catch_up(run.pk)

    rows, following = list_link_changes(old, new, most=10)

    def paths(links):
        return [f"{link.target}#{link.fragment}".removeprefix(site.url) for link in links]

    expected = [
        ("/", ["/new#"], ["/b#"]),
        ("/a", ["/x#two"], ["/x#one"]),
        ("/b", [], ["/same#"]),
        ("/new", ["/#"], []),
    ]
    shown = [
        (row.page.removeprefix(site.url), paths(row.added), paths(row.removed)) for row in rows
    ]
    assert (shown, following) == (expected, None)

    first, behind = list_link_changes(old, new, most=1)
    assert (first, behind) == (rows[:1], f"{site.url}/")
    assert list_link_changes(old, new, after=behind, most=10)[0] == rows[1:]
    assert list_link_changes(new, new, most=10) == ([], None)
    monkeypatch.setattr(link_changes, "SLICE", 1)
    lines = list(all_link_changes(old, new))
    told = sorted((line["page"], line["change"], line["target"]) for line in lines)
    assert told == sorted(
        (row.page, change, link.target)
        for row in rows
        for change, links in (("added", row.added), ("removed", row.removed))
        for link in links
    )

    viewer = browser("viewer")
    crawl, asked = old.crawl_id, {"run": 2, "against": 1}
    told = viewer.get(f"/api/v1/crawls/{crawl}/link-changes", asked).json()
    assert [row["page"] for row in told["items"]] == [row.page for row in rows]
    page = soup(viewer.get(reverse("crawling:link-changes", args=[crawl])))
    assert [cell.get_text() for cell in page.select("tbody th")] == [row.page for row in rows]
    file = viewer.get(reverse("crawling:link-changes-file", args=[crawl, "csv"]), asked)
    assert len(b"".join(file.streaming_content).splitlines()) == 1 + len(lines)

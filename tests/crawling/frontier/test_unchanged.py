"""On a re-crawl the site is asked whether pages have changed; what has not is carried over (RFC
9110, section 13).
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from warcio.archiveiterator import ArchiveIterator

from crawling.datasets.catch_up import catch_up
from crawling.datasets.parquet import STRUCTURED, TEXTS, rows_in
from crawling.models import LinksPart, Page
from crawling.runs.housekeeping.run_removal import request_removal
from crawling.runs.start import start_run
from crawling.web.http_caching import condition_headers, read_etag, read_head, renewed_fields
from tests.crawling.archive.judging import files_of, judge
from tests.crawling.reading import read_to_the_end

HTML = {"Content-Type": "text/html; charset=utf-8"}
HOME = '<title>Home</title><a href="/a">a</a><a href="/b">b</a>'


def versioned(body, tag):
    """A page that answers 304 to those who have this version."""

    def page(request):
        if request.headers.get("If-None-Match") == tag:
            return 304, {"ETag": tag}, ""
        return 200, {**HTML, "ETag": tag}, body

    return page


def by_path(run, site):
    return {
        page.url.url.removeprefix(site.url): page
        for page in Page.objects.filter(run=run).select_related("url")
    }


def test_what_has_not_changed_is_not_sent_again_and_the_crawl_goes_on_from_it(
    make_site, crawl_to_the_end, work_off
):
    site = make_site({"/": versioned(HOME, '"1"'), "/a": versioned("old", '"a"'), "/b": "no tag"})
    first = crawl_to_the_end(f"{site.url}/")
    site.pages["/a"] = versioned("new", '"a2"')

    second, third = work_off(start_run(first.crawl)), work_off(start_run(first.crawl))

    mine, its, latest = by_path(second, site), by_path(first, site), by_path(third, site)
    assert {path: page.status for path, page in mine.items()} == {"/": 304, "/a": 200, "/b": 200}
    assert {path: page.status for path, page in latest.items()} == {"/": 304, "/a": 304, "/b": 200}
    home = mine["/"]
    assert (home.title, home.links, home.content_type, home.digest, home.unchanged_since) == (
        "Home",
        2,
        "text/html",
        its["/"].digest,
        its["/"].pk,
    )
    assert (latest["/"].unchanged_since, latest["/a"].unchanged_since) == (
        its["/"].pk,
        mine["/a"].pk,
    )
    assert second.urls.filter(state="s").count() == 3


def test_a_second_reading_reads_what_unchanged_pages_have(make_site, crawl_to_the_end, work_off):
    table = "<table><tr><th>Name<th>Price<tr><td>Lamp<td>5</table>"
    data = '<script type="application/ld+json">{"@type": "Product", "name": "Lamp"}</script>'
    home = f"<title>Home</title><p>What the page says.</p>{table}{data}<img src=/a.png>"
    site = make_site({"/": versioned(home, '"1"')})
    first = crawl_to_the_end(f"{site.url}/")

    read = {}
    for run in first, work_off(start_run(first.crawl)), work_off(start_run(first.crawl)):
        catch_up(run.pk)
        read_to_the_end(run)
        (part,) = LinksPart.objects.filter(run=run)
        (text,) = rows_in(part.texts_name, TEXTS)
        data = {tuple(row[3:]) for row in rows_in(part.structured_name, STRUCTURED)}
        read[by_path(run, site)["/"].status, run.number] = (text[1:3], text[4:], data)

    assert [status for status, _ in read] == [200, 304, 304]
    told = list(read.values())
    assert "What the page says." in told[0][1][3]
    assert {"json-ld", "table", "image"} <= {kind for kind, *_ in told[0][2]}
    assert told == [told[0]] * 3


def test_the_archive_says_of_which_record_it_holds(make_site, crawl_to_the_end, work_off):
    site = make_site({"/": versioned(HOME, '"1"'), "/a": "x", "/b": "y"})
    first = crawl_to_the_end(f"{site.url}/")

    second = work_off(start_run(first.crawl))

    judge(second)
    with files_of(second)[0].path.open("rb") as stream:
        revisit = next(
            record.rec_headers for record in ArchiveIterator(stream) if record.rec_type == "revisit"
        )
    with files_of(first)[0].path.open("rb") as stream:
        heads = [
            record.rec_headers
            for record in ArchiveIterator(stream)
            if record.rec_type == "response"
        ]
    response = next(head for head in heads if head.get_header("WARC-Target-URI") == f"{site.url}/")
    assert revisit.get_header("WARC-Profile").endswith("/server-not-modified")
    assert revisit.get_header("WARC-Refers-To") == response.get_header("WARC-Record-ID")


@pytest.mark.parametrize("trouble", ["it is gone", "it is another", "its run goes"])
def test_what_this_machine_cannot_read_again_is_fetched_whole(
    make_site, crawl_to_the_end, work_off, trouble
):
    site = make_site({"/": versioned(HOME, '"1"'), "/a": "x", "/b": "y"})
    first = crawl_to_the_end(f"{site.url}/")
    if trouble == "it is gone":
        for file in files_of(first):
            file.path.unlink()
    elif trouble == "its run goes":
        request_removal(first, by=None, for_good=True)
    else:
        Page.objects.update(digest=b"that of another document")

    second = work_off(start_run(first.crawl))

    assert {page.status for page in by_path(second, site).values()} == {200}
    assert len(by_path(second, site)) == 3


def test_a_date_asks_as_well_as_a_tag():
    changed = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    assert condition_headers('W/"x"', changed) == {
        "If-None-Match": 'W/"x"',
        "If-Modified-Since": "Fri, 02 Jan 2026 03:04:05 GMT",
    }
    assert condition_headers("", None) == {}
    assert [read_etag(tag) for tag in (' "a" ', '"a\r\nX: y"', "x" * 600, "")] == [
        '"a"',
        "",
        "",
        "",
    ]


def test_the_answer_renews_what_it_says_and_leaves_the_rest():
    stored = read_head(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nVary: a\r\nVary: b\r\nExpires: old\r\n\r\n"
    )

    assert renewed_fields(stored, [("Expires", "new"), ("Content-Length", "0")]) == {
        "content-type": "text/html",
        "vary": "a, b",
        "expires": "new",
    }

"""A crawl archives all of it, as it came, where the pages' rows say (ISO 28500)."""

from __future__ import annotations

import gzip
import random
import zlib

from warcio.archiveiterator import ArchiveIterator

from crawling.archive.reader import original_of, record_of
from crawling.frontier.host_state import store_robots
from crawling.models import ArchiveFile, Page
from crawling.runs.start import start_run
from tests.crawling.archive.judging import files_of, judge
from tests.crawling.fetching.pipeline.test_crawl_path import links

HTML = {"Content-Type": "text/html"}
SAME = "the same, again and again; " * 10


def kinds(run):
    """(type, URI) of the run's records, in their order."""
    found = []
    for file in files_of(run):
        with file.path.open("rb") as stream:
            found += [
                (record.rec_type, record.rec_headers.get_header("WARC-Target-URI"))
                for record in ArchiveIterator(stream)
            ]
    return found


def graph(run):
    """Where each document leads, by the metadata of its fetch."""
    found = {}
    for file in files_of(run):
        with file.path.open("rb") as stream:
            for record in ArchiveIterator(stream):
                if record.rec_type == "metadata":
                    fields = [
                        line.split(": ", 1)
                        for line in record.content_stream().read().decode().splitlines()
                    ]
                    found[record.rec_headers.get_header("WARC-Target-URI")] = [
                        value for name, value in fields if name == "outlink"
                    ]
    return found


def answers(run):
    """URIs and statuses of what was answered, in their order."""
    found = []
    for file in files_of(run):
        with file.path.open("rb") as stream:
            for record in ArchiveIterator(stream):
                if record.rec_type == "response":
                    found.append(
                        (
                            record.rec_headers.get_header("WARC-Target-URI"),
                            int(record.http_headers.get_statuscode()),
                        )
                    )
    return found


def test_every_answer_is_archived_with_its_request_and_what_was_known_of_it(
    make_site, crawl_to_the_end
):
    leading = links("/a", "/moved", "http://elsewhere.test/", "mailto:a@a.test")
    site = make_site({"/": leading, "/moved": (301, {"Location": "/"}, "")})

    run = crawl_to_the_end(f"{site.url}/")

    pages = judge(run)
    assert [page.status for page in sorted(pages, key=lambda page: page.pk)] == [200, 404, 301]
    robots, home, lost, moved = (
        f"{site.url}{path}" for path in ("/robots.txt", "/", "/a", "/moved")
    )
    expected = [
        (kind, url)
        for url in (robots, home, lost, moved)
        for kind in ("response", "request", "metadata")
    ]
    assert kinds(run) == [("warcinfo", None), *expected]
    record = record_of(Page.objects.select_related("archive_file").get(url__url=home))
    assert record.head.startswith("HTTP/1.1 200 OK\r\nServer: ")
    assert record.payload.decode() == leading
    assert graph(run) == {
        robots: [],
        home: [lost, moved, "http://elsewhere.test/"],
        lost: [],
        moved: [home],
    }


def test_documents_of_every_kind_come_back_as_they_were(make_site, crawl_to_the_end):
    noise = random.Random(5).randbytes(3_000_000)
    pages = {
        "/gzip": (200, {**HTML, "Content-Encoding": "gzip"}, gzip.compress(b"hello" * 1000)),
        "/deflated": (200, {**HTML, "Content-Encoding": "deflate"}, zlib.compress(b"hi" * 1000)),
        "/brotli": (200, {**HTML, "Content-Encoding": "br"}, b"\x0b\x01\x80a\x03"),
        "/empty": (200, HTML, b""),
        "/big": (200, {"Content-Type": "application/octet-stream"}, noise),
        "/moved": (302, {"Location": "/gzip"}, b"see there"),
        "/odd": (200, {"Content-Type": "text/html", "X-Odd": "a\tb"}, "ü"),
    }
    site = make_site({"/": links(*pages), **pages})

    found = judge(crawl_to_the_end(f"{site.url}/"))

    assert len(found) == 8
    assert record_of(next(page for page in found if page.url.url.endswith("/big"))).payload == noise
    assert (
        record_of(next(page for page in found if page.url.url.endswith("/brotli"))).payload
        == b"\x0b\x01\x80a\x03"
    )


def test_a_payload_that_is_there_already_is_not_stored_again(make_site, crawl_to_the_end):
    site = make_site(
        {
            "/": links("/a", "/b", "/c", "/d"),
            "/a": SAME,
            "/b": SAME,
            "/c": "small",
            "/d": "small",
        }
    )

    run = crawl_to_the_end(f"{site.url}/", batch_size=1)

    judge(run)
    copies = list(Page.objects.filter(is_revisit=True).values_list("url__url", flat=True))
    assert copies == [f"{site.url}/b"]
    with files_of(run)[0].path.open("rb") as stream:
        revisit = next(
            record.rec_headers for record in ArchiveIterator(stream) if record.rec_type == "revisit"
        )
    assert revisit.get_header("WARC-Refers-To-Target-URI") == f"{site.url}/a"
    assert revisit.get_header("WARC-Profile").endswith("/identical-payload-digest")


def test_a_payload_of_an_earlier_shift_is_not_stored_again(make_site, crawl_to_the_end, settings):
    settings.CRAWL_SLICE_SECONDS = 0.0  # each shift ends at its first look
    site = make_site({"/": links("/a", "/b"), "/a": SAME, "/b": SAME})

    run = crawl_to_the_end(f"{site.url}/", batch_size=1, delay_seconds=0.6)

    judge(run)
    assert run.processes.get().shifts.count() > 1
    assert Page.objects.filter(run=run, is_revisit=True).count() == 1


def test_failures_are_stored_each_for_itself(make_site, crawl_to_the_end):
    run = crawl_to_the_end(f"{make_site({'/': links('/a', '/b')}).url}/")

    judge(run)
    assert Page.objects.filter(run=run, status=404, is_revisit=False).count() == 2


def test_what_has_not_been_modified_refers_to_what_an_earlier_run_has(
    make_site, crawl_to_the_end, work_off
):
    site = make_site({"/": (200, {"ETag": '"x"'}, "first")})
    first = crawl_to_the_end(f"{site.url}/")
    site.pages["/"] = (304, {"ETag": '"x"'}, "")

    second = work_off(start_run(first.crawl))

    page = Page.objects.select_related("archive_file", "url", "run").get(run=second)
    assert (page.is_revisit, original_of(page).run) == (True, first)
    with files_of(second)[0].path.open("rb") as stream:
        revisit = next(
            record.rec_headers for record in ArchiveIterator(stream) if record.rec_type == "revisit"
        )
    assert revisit.get_header("WARC-Profile").endswith("/server-not-modified")
    with files_of(first)[0].path.open("rb") as stream:
        response = [
            record.rec_headers
            for record in ArchiveIterator(stream)
            if record.rec_type == "response"
        ][-1]
    for mine, its in (("WARC-Refers-To", "WARC-Record-ID"), ("WARC-Refers-To-Date", "WARC-Date")):
        assert revisit.get_header(mine) == response.get_header(its)


def test_a_file_that_is_full_is_followed_by_another(make_site, crawl_to_the_end, settings):
    settings.ARCHIVE_FILE_BYTES = 20_000
    noise = {f"/{n}": random.Random(n).randbytes(6_000) for n in range(12)}
    site = make_site(
        {
            "/": links(*noise),
            **{path: (200, {"Content-Type": "image/png"}, body) for path, body in noise.items()},
        }
    )

    run = crawl_to_the_end(f"{site.url}/", batch_size=2)

    judge(run)
    assert len(files_of(run)) >= 4
    assert all(file.sealed_at for file in files_of(run))


def test_an_order_without_an_archive_keeps_none(make_site, crawl_to_the_end, settings):
    run = crawl_to_the_end(f"{make_site({'/': 'x'}).url}/", archive=False)

    assert Page.objects.get(run=run).archive_file is None
    assert not ArchiveFile.objects.exists()
    # the links that its pages were read for are kept
    assert {each.name for each in settings.ARCHIVE_DIR.iterdir()} <= {f"links{run.pk}"}


def test_a_crawl_without_an_answer_opens_no_file(crawl_to_the_end):
    store_robots("http://127.0.0.1:8900", 200, b"User-agent: *\nDisallow: /")

    crawl_to_the_end("http://127.0.0.1:8900/")

    assert not ArchiveFile.objects.exists()


def test_robots_txt_is_archived_whatever_it_says_and_though_no_page_is_fetched(
    make_site, crawl_to_the_end
):
    site = make_site(
        {"/robots.txt": (200, {"Content-Type": "text/plain"}, "User-agent: *\nDisallow: /")}
    )

    run = crawl_to_the_end(f"{site.url}/")

    assert judge(run) == []
    assert answers(run) == [(f"{site.url}/robots.txt", 200)]


def test_each_step_on_the_way_to_robots_txt_is_archived(make_site, crawl_to_the_end):
    other = make_site(
        {"/rules": (404, {"Content-Type": "text/plain"}, "no rules")}, address="127.0.0.2"
    )
    site = make_site(
        {"/robots.txt": (302, {"Location": f"{other.url}/rules"}, "there"), "/": "home"}
    )

    run = crawl_to_the_end(f"{site.url}/")

    assert len(judge(run)) == 1
    assert answers(run) == [
        (f"{site.url}/robots.txt", 302),
        (f"{other.url}/rules", 404),
        (f"{site.url}/", 200),
    ]


def test_a_page_is_kept_whole_though_a_robots_txt_says_the_same(make_site, crawl_to_the_end):
    same = (200, {"Content-Type": "text/plain"}, "User-agent: *")
    site = make_site({"/robots.txt": same, "/": same})

    (page,) = judge(crawl_to_the_end(f"{site.url}/"))

    assert not page.is_revisit

"""WARC and WACZ files become runs, whoever wrote them; what cannot be read costs itself alone."""

from __future__ import annotations

import gzip
import json
from io import BytesIO, StringIO
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from crawling.archive.viewer import whole_document_of
from crawling.dashboard.pages.downloads import warc_file
from crawling.dashboard.pages.filter import PageFilter
from crawling.imports.importing import ImportTrouble, import_files
from crawling.models import ArchiveFile, CrawlJob, Page
from crawling.wacz.layout import read
from tests.crawling.wacz.test_wacz_file import index_of, made, opened

#: warcio's writer leaves its own temporary files open
pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore:Unclosed file:ResourceWarning"
)
FACTS = (
    *("url__url", "status", "final_url", "content_type", "charset", "title", "bytes"),
    *("fingerprint", "simhash", "links", "is_revisit", "url__state"),
)
HOME = b"<title>Caf\xc3\xa9</title><a href=/b>b</a>"


@pytest.fixture
def bring(tmp_path, pool, loopback):
    """Imports files, given as names and contents."""

    def bring(**files):
        paths = []
        for name, content in files.items():
            paths.append(tmp_path / name.replace("_", "."))
            paths[-1].write_bytes(content)
        folder = tmp_path / "work"
        result = import_files(paths, folder, name="Imported", namespace=uuid4(), by=None)
        assert not folder.exists()
        return result

    return bring


@pytest.fixture
def run(make_site, crawl_to_the_end):
    site = make_site(
        {
            "/": '<title>Home</title><a href="/a">a</a><a href="/b">b</a><a href="/moved">m</a>'
            '<a href="/gone">g</a>',
            "/a": "<title>A</title>" + "the same; " * 60,
            "/b": "<title>A</title>" + "the same; " * 60,
            "/moved": (301, {"Location": "/a"}, ""),
        }
    )
    return crawl_to_the_end(f"{site.url}/", batch_size=1)


def facts_of(run):
    pages = Page.objects.filter(run=run).exclude(url__url__endswith="/robots.txt")
    return sorted(pages.values_list(*FACTS))


def warc(*records, packed=True) -> bytes:
    """A WARC file as warcio writes it. records: kind, URL, head or None, content, header fields."""
    out = BytesIO()
    writer = WARCWriter(out, gzip=packed)
    for kind, url, head, content, fields in records:
        lines = head.split("\r\n") if head else []
        pairs = [tuple(line.split(": ", 1)) for line in lines[1:]]
        said = StatusAndHeaders(lines[0].partition(" ")[2], pairs, "HTTP/1.1") if head else None
        fields = {"WARC-Date": "2019-05-06T07:08:09Z", **fields}
        writer.write_record(
            writer.create_warc_record(
                url, kind, BytesIO(content), http_headers=said, warc_headers_dict=fields
            )
        )
    return out.getvalue()


def answer(url, content=HOME, head="HTTP/1.1 200 OK\r\nContent-Type: text/html", **fields):
    return "response", url, head, content, fields


def test_a_run_that_leaves_as_warc_or_wacz_comes_back_as_it_was(run, bring):
    whole = b"".join(warc_file(run, PageFilter()).pieces)
    row = made(run)

    for result in (
        bring(run_warc_gz=whole),
        bring(run_wacz=b"".join(read(row, 0, row.bytes))),
    ):
        again = result.run
        assert facts_of(again) == facts_of(run)
        assert (again.state, again.crawl.name[:8]) == ("finished", "Imported")
        assert again.total.fetched == Page.objects.filter(run=again).count()
        call_command("archive", "check", str(again.crawl_id), stdout=StringIO())
        urls = {facts["url"] for _, facts in index_of(opened(made(again)))}
        assert urls == set(Page.objects.filter(run=again).values_list("url__url", flat=True))


def test_files_of_other_programs_are_read(bring):
    chunked = b"5\r\nhello\r\n3\r\n wo\r\n0\r\n\r\n"
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked"
    records = (
        ("request", "http://127.0.0.1:8900/", "GET / HTTP/1.1\r\nHost: 127.0.0.1", b"", {}),
        answer("<http://127.0.0.1:8900/>"),
        answer("http://127.0.0.1:8900/c", chunked, head),
        answer(
            "http://127.0.0.1:8900/p",
            gzip.compress(b"packed"),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip",
        ),
        ("resource", "http://b.test/r", None, b"text", {"Content-Type": "text/plain"}),
        answer(
            "http://127.0.0.1:8900/",
            b"<title>newer</title>",
            **{"WARC-Date": "2020-01-01T00:00:00Z"},
        ),
    )

    result = bring(other_warc=warc(*records, packed=False))

    pages = {page.url.url: page for page in Page.objects.select_related("url", "archive_file")}
    assert {url: (page.title, page.bytes) for url, page in pages.items()} == {
        "http://127.0.0.1:8900/": ("newer", 20),
        "http://127.0.0.1:8900/c": ("", 8),
        "http://127.0.0.1:8900/p": ("", 6),
        "http://b.test/r": ("", 4),
    }
    assert whole_document_of(pages["http://127.0.0.1:8900/c"]) == b"hello wo"
    assert whole_document_of(pages["http://127.0.0.1:8900/p"]) == b"packed"
    assert pages["http://127.0.0.1:8900/"].fetched_at.year == 2020
    assert result.left_out == {}
    assert result.run.crawl.seeds == ["http://127.0.0.1:8900/"]


def test_what_is_no_page_is_left_out_and_counted(bring):
    good = answer("http://127.0.0.1:8900/")
    records = (
        answer("dns:127.0.0.1"),
        answer("http://127.0.0.1:8900/1", **{"WARC-Date": "2999-01-01T00:00:00Z"}),
        answer("http://user:secret@a.test/2"),
        answer("http://127.0.0.1:8900/4", head=f"HTTP/1.1 200 OK\r\nX: {'y' * 600_000}"),
        good,
    )

    result = bring(other_warc_gz=warc(*records))

    assert [page.url.url for page in Page.objects.select_related("url")] == [
        "http://127.0.0.1:8900/"
    ]
    assert result.left_out == {
        "are of addresses that cannot be crawled": 2,
        "have no date": 1,
        "have a head that is too long": 1,
    }


def test_a_file_that_breaks_off_counts_up_to_there(bring):
    both = (
        warc(answer("http://127.0.0.1:8900/")),
        warc(answer("http://127.0.0.1:8900/b", b"x" * 5000)),
    )

    result = bring(cut_warc_gz=both[0] + both[1][:-20])

    urls = [page.url.url for page in Page.objects.select_related("url").order_by("pk")]
    assert urls[0] == "http://127.0.0.1:8900/"
    assert result.pages == len(urls)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("noise_warc_gz", bytes(range(256)) * 9),
        ("noise_warc", b"GET / HTTP/1.1\r\n\r\n"),
        ("noise_wacz", b"PK\x03\x04 no zip"),
        ("empty_warc", b""),
        ("nothing_warc_gz", gzip.compress(b"", mtime=0)),
    ],
)
def test_what_is_no_archive_makes_nothing(bring, name, content):
    with pytest.raises(ImportTrouble, match=name.partition("_")[0]):
        bring(**{name: content})

    assert not CrawlJob.objects.exists()
    assert not ArchiveFile.objects.exists()


@pytest.mark.drill
@pytest.mark.timeout(600)
@pytest.mark.parametrize("start", [b"WARC/1.0\r\nWARC-Type: ", b""])
def test_a_bomb_ends_its_program_alone(bring, start):
    bomb = BytesIO()
    with gzip.GzipFile(fileobj=bomb, mode="wb") as packed:
        packed.write(start)
        for _ in range(3000):
            packed.write(bytes(1024 * 1024))

    with pytest.raises(ImportTrouble):
        bring(bomb_warc_gz=bomb.getvalue())


def test_the_command_imports_files_from_anywhere(pool, loopback, settings, tmp_path):
    settings.STATE_DIR = tmp_path
    path, said = tmp_path / "books.warc.gz", StringIO()
    path.write_bytes(warc(answer("http://127.0.0.1:8900/")))

    call_command("crawl", "import", str(path), "--json", stdout=said)

    assert json.loads(said.getvalue())["pages"] == 1
    with pytest.raises(CommandError, match="No such file"):
        call_command("crawl", "import", str(tmp_path / "none.warc"))

"""WARC and WACZ files become runs, whoever wrote them."""

from __future__ import annotations

import base64
import gzip
import json
import os
import signal
import subprocess
import sys
from contextlib import closing, contextmanager
from hashlib import md5, sha1, sha256
from io import BytesIO, StringIO
from pathlib import Path
from threading import Thread
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from django.db import connections
from django.test import Client
from warcio.archiveiterator import ArchiveIterator

from crawling.archive.packages.reading import read_package
from crawling.archive.reader import (
    index_lines,
    open_record_of,
    packed_pieces,
    page_with_content,
    record_of,
)
from crawling.archive.viewer import whole_document_of
from crawling.base.errors import BadOrder
from crawling.dashboard.pages.downloads import warc_file
from crawling.dashboard.pages.filter import PageFilter
from crawling.datasets.catch_up import catch_up
from crawling.datasets.parts import count_pages_behind, lost_parts
from crawling.jobs.cancel import cancel_job
from crawling.jobs.rq_jobs import BACKGROUND, IMPORTS
from crawling.jobs.running import run_job
from crawling.machine.work_folders import remove_abandoned_folders, work_folder
from crawling.models import ArchiveFile, BackgroundJob, CrawlJob, Page
from crawling.runs.crawls.teams import set_team_rule
from crawling.runs.housekeeping.deletion import delete_crawl
from crawling.runs.housekeeping.run_removal import remove_rows
from crawling.uses.exports.jobs import MIRROR, WACZ
from crawling.uses.imports.import_jobs import offered_files, request_import
from crawling.uses.imports.importing import ImportTrouble, import_files
from crawling.uses.imports.jobs import IMPORT, ArchiveImport
from crawling.uses.withdrawals.file_removal import remove_records
from crawling.uses.withdrawals.withdrawing import undo_withdrawal, withdraw_pages
from tests.crawling.pages import browser, log_in, soup
from tests.crawling.uses.exports.wacz.test_wacz_file import index_of, made, opened
from tests.crawling.uses.imports.warc_files import HOME, answer, warc
from tests.stack import wait_until

FACTS = (
    *("url__url", "status", "final_url", "content_type", "charset", "title", "bytes"),
    *("fingerprint", "simhash", "links", "is_revisit", "url__state"),
)
#: holds a folder as `work_folder` does
HOLD = (
    "import fcntl, os, sys; fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX); "
    "print('!', flush=True); sys.stdin.read()"
)
GOOD = answer("http://127.0.0.1:8900/")


@pytest.fixture(autouse=True)
def place(settings, tmp_path) -> Path:
    """IMPORT_DIR."""
    settings.STATE_DIR = tmp_path
    settings.IMPORT_DIR = tmp_path / "imports"
    settings.IMPORT_DIR.mkdir()
    return settings.IMPORT_DIR


@pytest.fixture
def bring(place, pool, loopback):
    """Imports a file, given as name and content."""

    def bring(name, content):
        (place / name).write_bytes(content)
        return import_files([place / name], name="Imported", namespace=uuid4(), by=None)

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


def at_work(place) -> list[str]:
    return [folder.name for folder in (place.parent / "jobs-at-work").glob("*")]


def facts_of(run):
    pages = Page.objects.filter(run=run).exclude(url__url__endswith="/robots.txt")
    return sorted(pages.values_list(*FACTS))


def test_a_run_that_leaves_as_warc_or_wacz_comes_back_as_it_was(run, bring):
    whole = b"".join(warc_file(run, PageFilter()).pieces)
    row = made(run)

    for result in (
        bring("run.warc.gz", whole),
        bring("run.wacz", b"".join(read_package(row, 0, row.bytes))),
    ):
        again = result.run
        assert result.left_out.keys() <= {"are of the type metadata"}
        assert result.remarks == {}
        assert facts_of(again) == facts_of(run)
        assert (again.state, again.crawl.name[:8]) == ("finished", "Imported")
        assert again.total.fetched == Page.objects.filter(run=again).count()
        call_command("archive", "check", str(again.crawl_id), stdout=StringIO())
        urls = {facts["url"] for _, facts in index_of(opened(made(again)))}
        assert urls == set(Page.objects.filter(run=again).values_list("url__url", flat=True))


@pytest.mark.parametrize("order", [1, -1])
def test_a_payload_is_found_before_and_behind_what_refers_to_it(bring, order):
    urls = "http://127.0.0.1:8900/", "http://127.0.0.1:8900/copy"
    digest = base64.b32encode(sha1(HOME).digest()).decode()
    said = {"WARC-Date": "2021-01-01T00:00:00Z", "WARC-Payload-Digest": f"sha1:{digest}"}
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/html"
    again = [("revisit", url, head, b"", said) for url in urls]

    run = bring("run.warc.gz", warc(*[answer(urls[0]), *again][::order])).run

    pages = Page.objects.filter(run=run).order_by("url__url")
    assert [(page.url.url, page.title, page.links) for page in pages] == [
        *((urls[0], "Café", 1), (urls[1], "Café", 1)),
    ]
    assert [whole_document_of(page_with_content(page)) for page in pages] == [HOME, HOME]


def recorded(url, content, year, **fields):
    """An answer of a year, with the digest that revisit records name."""
    return answer(url, content, **{"WARC-Date": f"{year}-01-01T00:00:00Z"} | fields)


def revisit(url, year, head="HTTP/1.1 200 OK\r\nContent-Type: text/html", **fields):
    said = {"WARC-Date": f"{year}-01-01T00:00:00Z", "WARC-Payload-Digest": ""}
    return "revisit", url, head, b"", said | fields


A, B = "http://127.0.0.1:8900/a", "http://127.0.0.1:8900/b"
OLD, NEW = b"<title>old</title>old", b"<title>new</title>new"
OF_A = {"WARC-Refers-To-Target-URI": A}
SHA1 = sha1(OLD)
NOT_MODIFIED = "HTTP/1.1 304 Not Modified"
SAID = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"


def contents(run):
    rows = Page.objects.filter(run=run).order_by("url__url")
    return [(page.url.url, page.title, whole_document_of(page_with_content(page))) for page in rows]


@pytest.mark.parametrize(
    "fields",
    [
        {"WARC-Refers-To": "<urn:x:1>"},
        {**OF_A, "WARC-Refers-To-Date": "2019-01-01T00:00:00Z"},
        {**OF_A, "WARC-Refers-To-Date": "2019-01-01T00:00:00.000000Z"},
        {**OF_A, "WARC-Refers-To-Date": "2019-01-01"},
        *(
            {"WARC-Payload-Digest": digest}
            for digest in (
                "sha1:" + base64.b32encode(SHA1.digest()).decode().lower(),
                base64.b32encode(SHA1.digest()).decode(),
                f"SHA-1:{SHA1.hexdigest().upper()}",
                f"sha256:{sha256(OLD).hexdigest()}",
                f"md5:{md5(OLD).hexdigest()}",
                "sha-256:" + base64.b64encode(sha256(OLD).digest()).decode(),
            )
        ),
    ],
)
def test_a_payload_is_found_by_whatever_the_revisit_record_names(bring, fields):
    first = recorded(A, OLD, 2019, **{"WARC-Record-ID": "<urn:x:1>"})
    records = (first, revisit(B, 2020, **fields), recorded(A, NEW, 2021))

    result = bring("run.warc.gz", warc(*records))

    assert contents(result.run) == [(A, "new", NEW), (B, "old", OLD)]
    assert result.remarks == {}
    call_command("archive", "check", str(result.run.crawl_id), stdout=StringIO())
    (found,) = (said for kind, said in told(result.run) if kind == "revisit")
    assert (found["WARC-Refers-To"], found["WARC-Refers-To-Target-URI"]) == ("<urn:x:1>", A)
    assert found["WARC-Refers-To-Date"] == "2019-01-01T00:00:00.000000Z"
    assert found["WARC-Payload-Digest"][5:] == base64.b32encode(SHA1.digest()).decode()


def told(run):
    """Type and fields of the records of a run."""
    content = b"".join(b"".join(packed_pieces(file)) for file in run.archive_files.all())
    for record in ArchiveIterator(BytesIO(content), no_record_parse=True):
        yield record.rec_type, dict(record.rec_headers.headers)


def test_what_a_revisit_record_says_of_a_payload_elsewhere_stays(bring):
    said = {**OF_A, "WARC-Refers-To-Date": "2019-01-01T00:00:00Z", "WARC-Payload-Digest": "x:y"}

    result = bring("run.warc.gz", warc(revisit(B, 2020, **said)))

    assert result.remarks == {"refer to a payload that is not there": 1}
    (found,) = (said for kind, said in told(result.run) if kind == "revisit")
    assert found["WARC-Refers-To-Target-URI"] == A
    assert found["WARC-Refers-To-Date"] == "2019-01-01T00:00:00.000000Z"
    assert (found["WARC-Payload-Digest"], found.get("WARC-Refers-To")) == ("x:y", None)


@pytest.mark.parametrize(
    ("later", "shown", "year"),
    [
        (revisit(A, 2020, **OF_A), OLD, 2020),
        (revisit(A, 2020, "", **OF_A), OLD, 2020),
        (revisit(A, 2020, NOT_MODIFIED, **{"WARC-Profile": SAID}), OLD, 2019),
        (answer(A, b"", NOT_MODIFIED, **{"WARC-Date": "2020-01-01T00:00:00Z"}), OLD, 2019),
        (recorded(A, NEW, 2020), NEW, 2020),
    ],
)
def test_the_latest_answer_is_the_page_and_a_later_record_empties_it_never(
    bring, later, shown, year
):
    run = bring("run.warc.gz", warc(recorded(A, OLD, 2019), later)).run

    (page,) = Page.objects.filter(run=run)
    assert whole_document_of(page_with_content(page)) == shown
    assert (page.status, page.fetched_at.year) == (200, year)
    assert run.further_records.count() == 1
    lines = index_of(opened(made(run)))
    assert len(lines) == 2
    with withdrawn(run, A):
        assert not run.further_records.exists()
    delete_crawl(run.crawl, by=None, for_good=True)
    wait_until(remove_rows)
    assert not ArchiveFile.objects.exists()


@contextmanager
def withdrawn(run, url):
    asked = {"kind": "page", "text": url, "reason": "asked for", "by": None}
    withdrawal = withdraw_pages(run.crawl, None, **asked)
    yield
    undo_withdrawal(run.crawl, withdrawal.pk, by=None)


def test_the_payload_of_a_page_outlives_the_withdrawal_of_another_that_had_it_first(bring):
    said = {**OF_A, "WARC-Refers-To-Date": "2019-01-01T00:00:00Z"}
    records = (
        recorded(A, OLD, 2019),
        recorded(A, NEW, 2022),
        *(revisit(B, year, **said) for year in (2020, 2021)),
        recorded(B + "2", OLD, 2019),
        revisit(B + "3", 2020, **said),
    )
    run = bring("run.warc.gz", warc(*records)).run
    asked = {"kind": "page", "text": A, "reason": "right to be forgotten", "by": None}
    withdrawal = withdraw_pages(run.crawl, None, **asked)
    assert [page for page in contents(run) if page[0] == B] == [(B, "old", OLD)]
    undo_withdrawal(run.crawl, withdrawal.pk, by=None)
    assert contents(run)[0] == (A, "new", NEW)
    assert run.further_records.count() == 2

    remove_records(withdraw_pages(run.crawl, None, **asked, at_once=True).pk)

    assert contents(run) == [(B, "old", OLD), (f"{B}2", "old", OLD), (f"{B}3", "old", OLD)]
    call_command("archive", "check", str(run.crawl_id), stdout=StringIO())
    kept = [(kind, said.get("WARC-Target-URI")) for kind, said in told(run)]
    assert ("response", A) not in kept
    ids = {said["WARC-Record-ID"] for kind, said in told(run) if kind == "response"}
    assert {said["WARC-Refers-To"] in ids for kind, said in told(run) if kind == "revisit"} == {
        True
    }
    lines = index_of(opened(made(run)))
    assert sorted(facts["url"] for _, facts in lines) == [B, B, f"{B}2", f"{B}3"]


def test_answers_to_each_method_and_body_are_in_the_index(bring):
    records = []
    for number, (asked, kind) in enumerate(
        (
            (b"q=apple&r=1", "application/x-www-form-urlencoded"),
            (b'{"q": [1, {"p": 2}]}', "application/json"),
            (b"q=a%0Aev il%01", "application/x-www-form-urlencoded"),
            (b"\0\1", ""),
            (b"", "GET"),
        )
    ):
        method = "GET" if kind == "GET" else "POST"
        name = f"<urn:x:{number}>"
        head = f"{method} /a HTTP/1.1\r\nHost: a\r\nContent-Type: {kind}"
        records += [
            recorded(A, OLD + asked, 2020 - number, **{"WARC-Record-ID": name}),
            ("request", A, head, asked, {"WARC-Concurrent-To": name}),
        ]

    run = bring("run.warc.gz", warc(*records)).run

    assert contents(run) == [(A, "old", OLD)]
    lines = [(facts.get("method"), facts.get("requestBody")) for _, facts in
             index_of(opened(made(run)))]  # fmt: skip
    assert sorted(lines, key=str) == [
        ("POST", "__wb_post_data=AAE="), ("POST", "q=1&p=2"), ("POST", "q=a\nev il\x01"),
        ("POST", "q=apple&r=1"), (None, None),
    ]  # fmt: skip
    (file,) = run.archive_files.all()
    found = list(index_lines(file))
    assert not any("\n" in line for line in found)
    keys = {line.split()[0].partition("?")[2] for line in found}
    assert keys >= {"__wb_method=post&q=apple&r=1", "__wb_method=post&q=aev%20il%01"}
    chosen = b"".join(warc_file(run, PageFilter(text="/a")).pieces)
    kinds = [record.rec_type for record in ArchiveIterator(BytesIO(chosen))]
    assert (kinds.count("response"), kinds.count("request")) == (5, 5)


@pytest.mark.parametrize("url", ["http://localhost/x", "file:///home/x/a.html"])
def test_files_of_addresses_that_are_not_crawled_here_are_imported(bring, url):
    run = bring("run.warc", warc(("resource", url, None, OLD, {"Content-Type": "text/html"}))).run

    assert contents(run) == [(url, "old", OLD)]
    call_command("archive", "check", str(run.crawl_id), stdout=StringIO())


def test_what_no_crawl_would_fetch_is_imported_whole(bring):
    """A URL and a document that are longer than a crawl here takes them."""
    long, rest = "http://a.test/" + "l" * 60_000, bytes(65 * 2**20)
    video = "HTTP/1.1 200 OK\r\nContent-Type: video/mp4"
    plain = "HTTP/1.1 200 OK\r\nContent-Type: text/html"
    film = answer("http://a.test/film", rest, video)

    result = bring("run.warc.gz", warc(answer(long, OLD, plain), film))

    assert (result.left_out, result.remarks) == ({}, {})
    pages = {page.url.url: page for page in result.run.pages.select_related("archive_file", "url")}
    assert [record_of(pages[long]).payload, pages[film[1]].bytes] == [OLD, len(rest)]
    with closing(open_record_of(pages[film[1]], len(rest) + 10_000).payload) as payload:
        assert payload.sha256() == sha256(rest).digest()
    call_command("archive", "check", str(result.run.crawl_id), stdout=StringIO())
    assert [facts["url"] for _, facts in index_of(opened(made(result.run)))] == [film[1], long]
    (file,) = result.run.archive_files.all()
    assert len(list(index_lines(file))) == 2
    assert result.run.crawl.seeds == ["http://a.test/"]


def test_notes_of_crawlers_go_with_their_page_and_are_none(bring, place):
    """As Browsertrix, brozzler, Heritrix and wget write them."""
    text, picture = f"urn:text:{B}", "screenshot:http://user:secret@127.0.0.1:8900/b"
    log = "metadata://gnu.org/software/wget/warc/wget.log"
    plain = {"Content-Type": "text/plain"}
    notes = [
        ("resource", text, None, b"what B says", plain),
        ("resource", picture, None, b"PNG", {"Content-Type": "image/png"}),
        ("response", "dns:127.0.0.1", None, b"127.0.0.1", {"Content-Type": "text/dns"}),
        ("resource", log, None, b"GET", plain),
        ("metadata", f"{log}s", None, b"wget.log", plain),
    ]

    result = bring("run.warc.gz", warc(*notes, answer(A, OLD), answer(B, NEW), revisit(B, 2021)))

    run, bare = result.run, picture.replace("user:secret@", "")
    assert [url for url, *_ in contents(run)] == [A, B]
    assert (result.left_out, contents(run)[1][2]) == ({}, NEW)
    about = run.further_records.exclude(target="").values_list("target", "url__url")
    assert set(about) == {(text, B), (bare, B), ("dns:127.0.0.1", A), (log, A), (f"{log}s", A)}
    indexed = [facts["url"] for _, facts in index_of(opened(made(run)))]
    assert sorted(indexed) == sorted([text, bare, "dns:127.0.0.1", log, f"{log}s", A, B, B])
    (file,) = run.archive_files.all()
    assert {line.split()[0] for line in index_lines(file)} >= {text, "dns:127.0.0.1"}
    call_command("archive", "check", str(run.crawl_id), stdout=StringIO())
    chosen = b"".join(warc_file(run, PageFilter(text="/b")).pieces)
    targets = [
        one.rec_headers.get_header("WARC-Target-URI") for one in ArchiveIterator(BytesIO(chosen))
    ]
    assert {text, bare} < set(targets)
    with withdrawn(run, B):
        assert {one.target for one in run.further_records.all()} == {
            "dns:127.0.0.1",
            log,
            f"{log}s",
        }

    (place / "only.warc").write_bytes(warc(*notes, packed=False))
    with pytest.raises(ImportTrouble, match="5 that are notes of a crawler"):
        import_files([place / "only.warc"], name="x", namespace=uuid4(), by=None)


def test_what_no_text_may_have_is_no_obstacle(bring):
    head = 'HTTP/1.1 200 O\0K\r\nContent-Type: text/html\0\r\nETag: "a\0"\r\nLocation: \0'
    odd = ("str\0ange", A, None, b"?", {})

    result = bring("run.warc", warc(answer(A, OLD, head), odd, packed=False))

    assert (result.pages, result.left_out) == (1, {"are of a type that is not known": 1})


def test_the_command_reads_files_of_other_programs_anywhere(pool, loopback, place, tmp_path):
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
    path, said = tmp_path / "books.warc", StringIO()
    path.write_bytes(warc(*records, packed=False))

    call_command("crawl", "import", str(path), "--json", stdout=said)

    told = json.loads(said.getvalue())
    assert (told["pages"], told["name"], told["left_out"]) == (4, "Import of books", {})
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
    assert CrawlJob.objects.get().seeds == ["http://127.0.0.1:8900/"]
    assert at_work(place) == []
    with pytest.raises(CommandError, match="No such file"):
        call_command("crawl", "import", str(tmp_path / "none.warc"))


def test_what_has_no_answers_makes_nothing(bring, place):
    with pytest.raises(ImportTrouble, match=r"empty\.warc: there are no answers"):
        bring("empty.warc", b"")

    assert not CrawlJob.objects.exists()
    assert not ArchiveFile.objects.exists()
    assert at_work(place) == []


def test_files_of_the_directory_are_asked_for_on_the_page_and_imported_once(pool, loopback, place):
    (place / "books.warc.gz").write_bytes(warc(GOOD, answer("gopher://a.test/")))
    (place / "noise.wacz").write_bytes(b"no zip")
    operator, viewer = browser("operator"), browser("viewer")
    address, api = "/crawls/imports/", "/api/v1/imports"
    assert viewer.post(address, {"files": "books.warc.gz"}).status_code == 403
    assert "books.warc.gz" in soup(operator.get(address)).get_text()
    assert "no WARC, ARC or WACZ file" in soup(operator.post(address, {"files": "../x"})).get_text()
    operator.post(address, {"files": "books.warc.gz", "name": "Old books"})
    asked = json.dumps({"files": ["noise.wacz"]})
    answered = operator.post(api, asked, content_type="application/json")
    assert (answered.status_code, answered.json()["name"]) == (202, "Import of noise")
    assert [row["state"] for row in operator.get(api).json()["items"]] == ["waiting", "waiting"]

    for row in BackgroundJob.objects.all():
        run_job(row.pk)
        run_job(row.pk)

    failed, done = operator.get(api).json()["items"]
    assert (done["state"], done["pages"], done["read_bytes"]) == ("imported", 1, done["bytes"])
    assert CrawlJob.objects.get(pk=done["crawl"]).name == "Old books"
    assert failed["trouble"] == "noise.wacz: File is not a zip file"
    assert operator.get(f"{api}/{done['id']}").json() == done
    page = soup(viewer.get(address))
    assert page.find("a", string="Old books")["href"] == f"/crawls/{done['crawl']}/"
    assert "1 that are of addresses that cannot be crawled" in page.get_text()
    assert "File is not a zip file" in page.get_text()
    assert CrawlJob.objects.count() == 1


@pytest.mark.parametrize("for_good", [False, True])
def test_an_import_stays_in_the_list_when_its_crawl_is_deleted(pool, loopback, place, for_good):
    (place / "a.warc").write_bytes(warc(GOOD, packed=False))
    asked = request_import(["a.warc"], "Old books", by=None)
    run_job(asked.pk)

    delete_crawl(CrawlJob.objects.get(), by=None, for_good=for_good)

    viewer = browser("viewer")
    (told,) = viewer.get("/api/v1/imports").json()["items"]
    assert (told["id"], told["state"], told["pages"]) == (asked.pk, "imported", 1)
    row = soup(viewer.get("/crawls/imports/")).select_one("tbody tr").get_text()
    assert "Old books (deleted)" in " ".join(row.split())


def test_files_that_are_none_of_the_directory_are_refused(db, place):
    (place / "link.warc").symlink_to("/etc/passwd")
    (place / "folder.warc").mkdir()
    (place / "a.warc").touch()
    (place / os.fsdecode(b"caf\xe9.warc")).touch()
    assert offered_files() == {"a.warc": 0}
    for files in (["../a.warc"], ["link.warc"], ["folder.warc"], ["none.warc"], [], ["a.warc"] * 2):
        with pytest.raises(BadOrder, match="files: "):
            request_import(files, "", by=None)
    with pytest.raises(BadOrder, match="name: "):
        request_import(["a.warc"], "two\nlines", by=None)

    assert not BackgroundJob.objects.exists()


def test_only_the_user_who_asked_and_administrators_cancel_an_import(transactional_db, place):
    (place / "a.warc").touch()
    asking, another, other = browser("operator"), Client(), User.objects.create_user("ada")
    other.groups.add(Group.objects.get(name="operator"))
    log_in(another, other)
    asked = asking.post("/api/v1/imports", {"files": ["a.warc"]}, content_type="application/json")
    row = BackgroundJob.objects.get(pk=asked.json()["id"])
    button = f'action="/crawls/jobs/{row.pk}/cancel/"'

    by_json = another.post(f"/api/v1/imports/{row.pk}/cancel")
    by_page = another.post(f"/crawls/jobs/{row.pk}/cancel/")

    row.refresh_from_db()
    assert (by_json.status_code, by_page.status_code, row.state) == (403, 403, "waiting")
    assert f"{row.by} asked for import {row.pk}" in by_json.json()["detail"]
    assert button not in another.get("/crawls/imports/").text
    assert button in asking.get("/crawls/imports/").text
    assert button in browser("administrator").get("/crawls/imports/").text

    set_team_rule(own_crawls_only=False)
    assert button in another.get("/crawls/imports/").text
    assert another.post(f"/api/v1/imports/{row.pk}/cancel").json()["state"] == "cancelled"


def test_an_import_is_given_up_after_three_kills(transactional_db, place):
    (place / "a.warc").touch()
    row = request_import(["a.warc"], "", by=None)
    BackgroundJob.objects.update(attempts=3)

    run_job(row.pk)

    row.refresh_from_db()
    assert (row.state, row.trouble) == ("failed", IMPORT.broken_off)


def test_an_import_that_waits_is_cancelled_at_once_and_one_that_has_ended_is_not(
    pool, loopback, place
):
    for name in ("a.warc", "b.warc", "c.warc"):
        (place / name).write_bytes(warc(GOOD, packed=False))
    waiting, by_command, done = (request_import([f"{name}.warc"], "", by=None) for name in "abc")
    run_job(done.pk)
    operator, viewer = browser("operator"), browser("viewer")
    address = f"/crawls/jobs/{waiting.pk}/cancel/"
    assert viewer.post(address).status_code == 403

    operator.post(address)
    call_command("crawl", "cancel-import", str(by_command.pk), stdout=StringIO())
    refused = operator.post(f"/api/v1/imports/{done.pk}/cancel")

    for row in (waiting, by_command):
        run_job(row.pk)
        row.refresh_from_db()
        assert (row.state, row.run) == ("cancelled", None)
    assert (refused.status_code, CrawlJob.objects.count()) == (409, 1)
    assert f"Import {done.pk} is imported already" in refused.json()["detail"]


@pytest.mark.django_db(transaction=True)
def test_an_import_is_cancelled_in_the_midst_of_a_record(pool, loopback, place):
    layer = gzip.compress(bytes(30_000_000))
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: gzip"
    (place / "slow.warc").write_bytes(warc(*[answer(A, layer, head)] * 400, packed=False))
    row = request_import(["slow.warc"], "", by=None)
    thread = Thread(target=import_alone, args=(row.pk,))
    thread.start()
    wait_until(lambda: BackgroundJob.objects.get().began_at and at_work(place))

    cancelled = cancel_job(row, by=None)

    assert cancelled.state == "cancelled"
    thread.join(timeout=60)
    row.refresh_from_db()
    assert (row.state, CrawlJob.objects.exists(), at_work(place)) == ("cancelled", False, [])


def import_alone(pk):
    try:
        run_job(pk)
    finally:
        connections.close_all()


def test_an_import_does_not_stand_in_the_line_of_what_users_wait_for():
    assert {kind.queue for kind in (IMPORT, WACZ, MIRROR)} == {IMPORTS, BACKGROUND}
    assert IMPORT.queue == IMPORTS
    processes = (Path(__file__).parents[4] / "Procfile").read_text().splitlines()
    (importer,) = (line for line in processes if "rqworker --skip-checks imports " in line)
    assert all(name not in importer for name in (" background", " idle"))


def test_the_folder_of_an_import_that_was_killed_is_removed_and_no_other(place):
    (place.parent / "jobs-at-work" / "killed" / "checkpoint").mkdir(parents=True)
    holds = [sys.executable, "-c", HOLD, str(place.parent / "jobs-at-work" / "killed")]
    with subprocess.Popen(holds, stdout=subprocess.PIPE, stdin=subprocess.PIPE) as program:
        assert program.stdout.read(1) == b"!"
        remove_abandoned_folders()
        assert at_work(place) == ["killed"]
        program.kill()

    with work_folder() as other:
        remove_abandoned_folders()
        assert at_work(place) == [other.path.name]
    assert at_work(place) == []


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
        bring("bomb.warc.gz", bomb.getvalue())


@pytest.mark.drill
@pytest.mark.django_db(transaction=True)
def test_an_import_that_is_killed_while_it_reads_begins_anew(pool, loopback, place):
    pages = [answer(f"http://127.0.0.1:8900/{number}") for number in range(6000)]
    (place / "many.warc").write_bytes(warc(*pages, packed=False))
    row = request_import(["many.warc"], "", by=None)
    connections.close_all()  # the child's are its own
    child = os.fork()
    if not child:
        run_job(row.pk)
        os._exit(0)
    wait_until(lambda: ArchiveImport.from_job(BackgroundJob.objects.get()).answers)

    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)

    assert ArchiveImport.from_job(BackgroundJob.objects.get()).state == "reading"
    assert not CrawlJob.objects.exists()
    wait_until(lambda: remove_abandoned_folders() or not at_work(place))
    run_job(row.pk)
    assert (
        ArchiveImport.from_job(BackgroundJob.objects.get()).pages,
        CrawlJob.objects.count(),
    ) == (
        6000,
        1,
    )


def test_links_of_an_imported_run_are_read_by_the_background_job(bring):
    answers = [answer(f"http://127.0.0.1:8900/{number}") for number in range(3)]
    imported = bring("a.warc.gz", warc(*answers)).run

    assert [part.run for part in lost_parts()] == [imported]  # the scheduler queues their job
    catch_up(imported.pk)

    assert count_pages_behind(imported) == 0
    assert not lost_parts()

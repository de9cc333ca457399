"""Look at what is archived: safely in the browser, as files, as an index, and by its check."""

from __future__ import annotations

import gzip
import json
import zlib
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from tempfile import TemporaryFile

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.timezone import now

from crawling.archive import snapshot_view
from crawling.archive import viewer as looking
from crawling.archive.snapshot_view import snapshot_of
from crawling.archive.stored_pages import StoredPages
from crawling.archive.unpacker import MOST_SHOWN
from crawling.dashboard.pages import stored_view
from crawling.dashboard.pages.stored_view import ViewToken
from crawling.machine.sandbox import ProgramSandbox
from crawling.models import Page, Run
from crawling.runs.start import start_run
from crawling.uses.withdrawals.withdrawing import withdraw_pages
from tests.crawling.archive.judging import files_of
from tests.crawling.fetching.pipeline.test_crawl_path import links
from tests.crawling.machine.test_sandbox import PROGRAM
from tests.crawling.pages import browser, soup

AGAIN = "again and again; " * 10
EVIL = (
    "<title>x</title><script>alert(1)</script><img src=//elsewhere.test/spy><form "
    "action=/crawls/1/delete/><button>go</button></form>" + AGAIN
)

SHOWN = "<title>x</title><img><button>go</button>" + AGAIN


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    pages = {
        "/evil": EVIL,
        "/packed": (
            200,
            {"Content-Type": "text/html; charset=gb2312", "Content-Encoding": "gzip"},
            gzip.compress("中文".encode("gb2312")),
        ),
        "/program": (200, {"Content-Type": "application/x-sh"}, b"rm -rf /"),
        "/drawing": (200, {"Content-Type": "image/svg+xml"}, b"<svg/>"),
        "/copy": EVIL,
    }
    site = shared.serve({"/": links(*pages), **pages})
    return crawl_once(f"{site.url}/", batch_size=1)


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


def address(run, path, name="page"):
    return reverse(
        f"crawling:{name}",
        args=[run.crawl_id, Page.objects.get(run=run, url__url__endswith=path).pk],
    )


def test_a_stored_page_is_shown_in_a_frame_that_can_do_nothing(run):
    page = soup(browser("viewer").get(address(run, "/evil")))

    frame = page.find("iframe")
    place = frame["src"].partition("?viewer=")[0]
    assert ("".join(frame["sandbox"]), place) == ("", address(run, "/evil", "page-content"))
    assert page.find("pre").text.startswith("HTTP/1.1 200 OK\nServer:")
    assert page.find("script", string="alert(1)") is None


def test_the_document_itself_comes_with_its_hands_tied(run):
    answer = browser("viewer").get(address(run, "/evil", "page-content"))

    assert answer.content.decode() == SHOWN
    policy = answer["Content-Security-Policy"]
    assert policy == (
        "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline' data:; font-src "
        "data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
    )
    assert answer["X-DNS-Prefetch-Control"] == "off"
    assert (answer["X-Content-Type-Options"], answer["X-Frame-Options"]) == (
        "nosniff",
        "SAMEORIGIN",
    )


def test_a_compressed_document_of_any_charset_is_shown_unpacked(run):
    answer = browser("viewer").get(address(run, "/packed", "page-content"))

    assert (answer.content.decode(), answer["Content-Type"]) == (
        "中文",
        "text/html; charset=utf-8",
    )
    assert "Content-Encoding" not in answer


def test_a_damaged_record_is_told_and_shows_nothing(run):
    place = Page.objects.get(url__url__endswith="/evil")
    content = bytearray(files_of(run)[0].path.read_bytes())
    content[place.archive_offset + 30 : place.archive_offset + 60] = bytes(30)
    files_of(run)[0].path.write_bytes(content)
    operator = browser("operator")

    shown = operator.get(address(run, "/evil")).content.decode()

    assert "The record cannot be unpacked: Error -3" in shown
    assert "Traceback" not in shown
    assert operator.get(address(run, "/evil", "page-content")).status_code == 404


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("sleep", "took too long to be unpacked"),
        ("grow", "could not be unpacked within its limits"),
        ("die", "could not be unpacked within its limits"),
    ],
)
def test_what_breaks_the_program_costs_that_look_alone(run, what, said, monkeypatch):
    broken = ProgramSandbox(PROGRAM, what, limits=replace(looking.LIMITS, seconds=2.0))
    monkeypatch.setattr(looking, "ProgramSandbox", lambda *_, **__: broken)
    operator = browser("operator")

    shown = operator.get(address(run, "/evil")).content.decode()
    document = operator.get(address(run, "/evil", "page-document"), follow=True)

    assert said in shown
    assert "MemoryError" not in shown
    assert said in document.content.decode()


def test_the_program_that_unpacks_keeps_its_limits():
    """A record of 1 GiB of zeros gives what may be shown of it."""
    press = zlib.compressobj(9, wbits=31)
    record = b"WARC/1.1\r\nContent-Length: %d\r\n\r\nHTTP/1.1 200 OK\r\n\r\n" % (2**30 + 19)
    packed = press.compress(record) + press.compress(bytes(2**26)) * 2 + press.flush()

    with TemporaryFile() as file:
        file.write(packed)
        file.seek(0)
        sandbox = ProgramSandbox(looking.DOCUMENTS, str(len(packed)), limits=looking.LIMITS)
        end = sandbox.run(file)

    assert MOST_SHOWN - 1000 < len(end.output) <= MOST_SHOWN


@pytest.mark.parametrize("path", ["/program", "/drawing"])
def test_what_a_browser_might_run_is_not_shown(run, path):
    viewer = browser("viewer")

    assert soup(viewer.get(address(run, path))).find("iframe") is None
    assert viewer.get(address(run, path, "page-content")).status_code == 404


def test_a_copy_shows_the_payload_that_is_stored_once(run):
    copy = Page.objects.get(run=run, is_revisit=True)
    original = {"/evil": "/copy", "/copy": "/evil"}[copy.url.url[copy.url.url.rindex("/") :]]
    viewer = browser("viewer")

    page = soup(viewer.get(reverse("crawling:page", args=[run.crawl_id, copy.pk])))
    assert page.find("a", href=address(run, original)) is not None
    assert (
        viewer.get(reverse("crawling:page-content", args=[run.crawl_id, copy.pk])).content.decode()
        == SHOWN
    )


def token_of(run, **fields):
    user = User.objects.get(username="viewer")
    return ViewToken(**{"user": user.pk, "crawl": run.crawl_id, "viewer": "f"} | fields).signed()


def followed(run, path, **fields):
    """The answer to a link in a frame, with which browsers send no cookies."""
    page = Page.objects.get(run=run, url__url__endswith=path)
    return Client().get(reverse("stored-page", args=[token_of(run, **fields), page.pk]))


def test_a_link_in_a_frame_opens_pages_of_its_crawl_to_its_user_alone(run):
    browser("viewer")

    answer = followed(run, "/evil")
    assert (answer.content.decode(), answer["X-Frame-Options"]) == (SHOWN, "SAMEORIGIN")
    assert answer["Content-Security-Policy"] == stored_view.SAFE
    assert followed(run, "/evil", crawl=run.crawl_id + 1).status_code == 404
    assert "is not shown" in followed(run, "/program").content.decode()
    assert Client().get(reverse("stored-page", args=["forged", 1])).status_code == 404

    Run.objects.filter(pk=run.pk).update(removal_asked_at=now())
    assert followed(run, "/evil").status_code == 404
    Run.objects.filter(pk=run.pk).update(removal_asked_at=None)

    User.objects.filter(username="viewer").update(is_active=False)
    assert "may not see" in followed(run, "/evil").content.decode()


def test_a_link_in_a_frame_expires(run, monkeypatch):
    browser("viewer")
    monkeypatch.setattr(stored_view, "LASTS", timedelta(0))

    assert "expired" in followed(run, "/evil").content.decode()


def test_few_pages_are_put_together_at_once_and_others_are_told(run, monkeypatch):
    monkeypatch.setattr(snapshot_view, "WAIT_SECONDS", 0.01)
    viewer = browser("viewer")
    with ExitStack() as full:
        while snapshot_view.PLACES.acquire(blocking=False):
            full.callback(snapshot_view.PLACES.release)
        refused = viewer.get(address(run, "/evil", "page-content"))
        assert refused.status_code == 404
        assert "open this one again" in followed(run, "/evil").content.decode()

    for _ in range(3):  # each gives its place back
        assert viewer.get(address(run, "/evil", "page-content")).status_code == 200
        assert viewer.get(address(run, "/program", "page-content")).status_code == 404


def test_a_page_that_takes_long_in_all_its_parts_is_given_up(run, monkeypatch):
    browser("viewer")
    monkeypatch.setattr(snapshot_view, "MOST_SECONDS", 0)

    assert followed(run, "/evil").content.decode() == snapshot_view.TOO_MUCH


def sheet(number):
    """One that imports four that there are not."""
    imports = "".join(f"@import '/{number}{other}.css';" for other in range(4))
    return (200, {"Content-Type": "text/css"}, imports.encode())


def test_sheets_that_name_very_many_sheets_are_looked_up_in_part(
    make_site, crawl_to_the_end, monkeypatch
):
    sheets = {f"/{number}.css": sheet(number) for number in (1, 2)}
    links_of = "".join(f"<link rel=stylesheet href={path}>" for path in sheets)
    site = make_site({"/": links_of, **sheets})
    run = crawl_to_the_end(f"{site.url}/", requisites=True)
    asked = list[int]()
    looked_up = StoredPages.of
    monkeypatch.setattr(
        StoredPages, "of", lambda self, urls: asked.append(len(urls)) or looked_up(self, urls)
    )
    monkeypatch.setattr(snapshot_view, "MOST_FILES", 5)
    page = Page.objects.get(run=run, content_type="text/html")

    shown = snapshot_of(page, "utf-8", lambda to: "")

    assert (max(asked), shown.files) == (3, 2)
    assert (shown.missing, shown.left_out) == (3, 5)


def test_of_many_captures_the_nearest_alone_is_read(make_site, crawl_to_the_end, work_off):
    site = make_site({"/": links("/a"), "/a": "first"})
    first = crawl_to_the_end(f"{site.url}/")
    runs = [first, *(work_off(start_run(first.crawl)) for _ in range(3))]
    pages = [run.pages.get(url__url=f"{site.url}/a") for run in runs]
    near = runs[2].pages.get(url__url=f"{site.url}/")
    Page.objects.filter(pk=pages[2].pk).delete()
    for page, away in zip(pages, (30, -20, 0, 25), strict=True):
        at = near.fetched_at + timedelta(seconds=away)
        Page.objects.filter(pk=page.pk).update(fetched_at=at)

    stored = StoredPages(near)
    found = stored.first([f"{site.url}/a", f"{site.url}/"])

    assert {page.pk for page in found.values()} == {near.pk, pages[1].pk}
    with CaptureQueriesContext(connection) as asked:
        stored.first([f"{site.url}/a"])
    assert "DISTINCT ON" in asked[-1]["sql"]


def test_a_withdrawn_page_is_shown_in_no_frame(run):
    browser("viewer")
    page = Page.objects.get(run=run, url__url__endswith="/packed")
    answer = Client().get(reverse("stored-page", args=[token_of(run), page.pk]))
    assert answer.status_code == 200

    withdraw_pages(run.crawl, None, kind="page", text=page.url.url, reason="asked for", by=None)

    answer = Client().get(reverse("stored-page", args=[token_of(run), page.pk]))
    assert (answer.status_code, "was taken down on" in answer.content.decode()) == (404, True)


def test_the_lines_above_a_frame_are_of_its_user(run):
    viewer = browser("viewer")
    place = reverse("crawling:shown", args=[run.crawl_id]) + "?viewer=f"
    assert viewer.get(place).status_code == 204

    followed(run, "/evil")

    assert soup(viewer.get(place)).find("a")["href"] == address(run, "/evil")
    assert browser("operator").get(place).status_code == 204


def test_an_operator_downloads_a_record_and_a_file_and_a_viewer_does_not(run):
    operator, viewer = browser("operator"), browser("viewer")
    (file,) = files_of(run)
    whole = reverse("crawling:archive-file", args=[run.crawl_id, file.pk])
    file.path.write_bytes(file.path.read_bytes() + b"torn")

    assert b"rm -rf /" in gzip.decompress(
        b"".join(operator.get(address(run, "/program", "page-record")).streaming_content)
    )
    assert (
        b"".join(operator.get(whole).streaming_content)
        == file.path.read_bytes()[: file.committed_length]
    )
    assert (
        file.name in operator.get(reverse("crawling:archive", args=[run.crawl_id])).content.decode()
    )
    assert (
        viewer.get(whole).status_code
        == viewer.get(address(run, "/evil", "page-record")).status_code
        == 403
    )


def test_a_page_of_another_crawl_or_of_a_lost_file_is_told_so(run):
    viewer = browser("viewer")
    assert (
        viewer.get(address(run, "/evil").replace(f"/{run.crawl_id}/", "/999/", 1)).status_code
        == 404
    )

    files_of(run)[0].path.unlink()

    assert "is not on this machine" in viewer.get(address(run, "/evil")).content.decode()
    assert viewer.get(address(run, "/evil", "page-content")).status_code == 404


def test_json_says_where_a_page_is(run):
    items = browser("viewer").get(f"/api/v1/crawls/{run.crawl_id}/pages").json()["items"]

    assert {item["warc_file"] for item in items} == {files_of(run)[0].name}
    assert len({item["warc_offset"] for item in items}) == len(items) == 6


def test_the_index_has_a_line_for_every_page_in_order(run, capsys):
    call_command("archive", "index", run.crawl.name)

    lines = capsys.readouterr().out.splitlines()
    assert lines == sorted(lines)
    facts = [json.loads(line.split(" ", 2)[2]) for line in lines]
    robots = [fact for fact in facts if fact["url"].endswith("/robots.txt")]
    assert [fact["status"] for fact in robots] == ["404"]
    facts.remove(robots[0])
    assert sorted(int(fact["offset"]) for fact in facts) == sorted(
        Page.objects.values_list("archive_offset", flat=True)
    )
    assert {fact["mime"] for fact in facts} == {
        "text/html",
        "application/x-sh",
        "image/svg+xml",
        "warc/revisit",
    }


def test_the_check_finds_one_wrong_byte(run, capsys):
    call_command("archive", "check", run.crawl.name)
    assert "22 records are whole" in capsys.readouterr().out
    (file,) = files_of(run)
    place = Page.objects.get(url__url__endswith="/packed")
    content = bytearray(file.path.read_bytes())
    content[place.archive_offset + place.archive_length - 12] ^= 1
    file.path.write_bytes(content)

    with pytest.raises(CommandError, match="1 mistakes in"):
        call_command("archive", "check", run.crawl.name)

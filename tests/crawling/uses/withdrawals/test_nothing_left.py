"""A withdrawn page's content is nowhere once its records are removed: whatever was made of it."""

from __future__ import annotations

import binascii
import gzip
import io
import json
import zipfile
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import django_rq
import duckdb
import pytest
from django.conf import settings
from django.db import connection
from redis import Redis

from crawling.archive.files import remove_abandoned
from crawling.datasets.catch_up import catch_up
from crawling.datasets.parts import remove_abandoned_parts
from crawling.jobs.enqueue import open_job
from crawling.jobs.removal import remove_deleted_jobs
from crawling.jobs.running import run_in_this_process, run_job
from crawling.models import Inquiry, InquiryKind, Page
from crawling.runs.crawls.share_links import create_share_link
from crawling.runs.start import start_run
from crawling.uses.alerts.listeners import save_listener
from crawling.uses.exports.jobs import LATEST_MIRROR, MIRROR, WACZ
from crawling.uses.exports.state import request_export
from crawling.uses.extraction.jobs import request_extraction
from crawling.uses.link_check.jobs import PROBLEM_COUNTS
from crawling.uses.link_graph.jobs import LINK_GRAPH
from crawling.uses.search.folder import index_folder
from crawling.uses.search.index import remove_texts_of_abandoned_parts
from crawling.uses.watches.comparing import compare_watched
from crawling.uses.watches.watching import WatchFields, create_watch
from crawling.uses.withdrawals.file_removal import remove_records
from crawling.uses.withdrawals.withdrawing import withdraw_pages
from tests.crawling.pages import browser
from tests.crawling.reading import read_to_the_end

#: a word that no language and no other test has
MARKER = "qzxwithdrawnmarker"
#: where it is before: each is a kind of copy that a withdrawal must reach
BEFORE = {
    "file latest-mirror/.rest",
    "file links/.parquet",
    "file links/.structured.parquet",
    "file links/.texts.parquet",
    "file mirror/.rest",
    "file run/.warc.gz",
    "file search-/.store",
    "file wacz/.rest",
    "table alerts_delivery",
    "table crawling_extractedrow",
    "table crawling_backgroundjob",
    "table crawling_page",
    "table watches_watchevent",
}
TEXT = " ".join(f"word{number} of a long enough text" for number in range(40))


def said(price: str) -> tuple[int, dict[str, str], str]:
    """The page that is withdrawn: its answer has the marker in each place that is read."""
    data = json.dumps({"@type": "Product", "name": f"{MARKER} lamp"})
    head = f"""<title>{MARKER} title</title><meta name=description content="{MARKER} described">
<meta name=author content="{MARKER} author"><script type="application/ld+json">{data}</script>"""
    body = f"""<h2>{MARKER} heading</h2><main><p>{MARKER} costs {price}. {TEXT}</p></main>
<table><tr><th>{MARKER} column<th>b<tr><td>{MARKER} cell<td>2<tr><td>3<td>4</table>
<img src=/image.png alt="{MARKER} image"><a href=/a>{MARKER} anchor</a><a href="/a#{MARKER}">f</a>
<a href="http://elsewhere.test/">out</a><{MARKER}>"""
    headers = {
        "Content-Type": "text/html; charset=utf-8",
        "ETag": f'"{MARKER}-{price}"',
        "X-Note": f"{MARKER} note",
        "Link": f'</a>; rel=next; title="{MARKER} link"',
    }
    return (
        200,
        headers,
        f"<!doctype html><html lang=en><head>{head}</head><body>{body}</body></html>",
    )


def places() -> set[str]:
    """Where the marker is: tables, files, keys of Redis."""
    return {*_tables(), *_files(), *_keys()}


def _tables() -> set[str]:
    """Rows as text, in which bytes are written in hex."""
    found = set()
    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        for (table,) in cursor.fetchall():
            cursor.execute(
                f'SELECT count(*) FROM "{table}" one WHERE one::text ILIKE %s OR one::text LIKE %s',
                [f"%{MARKER}%", f"%{MARKER.encode().hex()}%"],
            )
            if cursor.fetchone()[0]:
                found.add(f"table {table}")
    return found


def _files() -> set[str]:
    folders = {Path(settings.ARCHIVE_DIR), Path(index_folder())}
    paths = {path for folder in folders for path in folder.rglob("*") if path.is_file()}
    return {
        f"file {path.parent.name.rstrip('0123456789')}/{''.join(path.suffixes[-2:])}"
        for path in paths
        if _has(path.name, path.read_bytes())
    }


def _has(name: str, content: bytes) -> bool:
    """Whether a file has it, as it is or unpacked."""
    if MARKER.encode() in content.lower():
        return True
    if content.startswith(b"\x1f\x8b"):
        return _has("", gzip.decompress(content))
    if content.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(content)) as package:
            return any(_has(one, package.read(one)) for one in package.namelist())
    if content.startswith(b"\x78"):
        with suppress(zlib.error):
            return _has("", zlib.decompress(content))
    if content.startswith(b"PAR1"):
        return MARKER in str(_rows(content)).lower()
    return False


def _rows(content: bytes) -> list[tuple]:
    place = Path(settings.ARCHIVE_DIR) / "looked-at.tmp"
    place.write_bytes(content)
    try:
        return duckdb.sql(f"SELECT * FROM read_parquet('{place}')").fetchall()
    finally:
        place.unlink()


def _keys() -> set[str]:
    redis = django_rq.get_connection("shifts")
    return {
        f"key {key.decode().partition(':')[0]}"
        for key in redis.scan_iter("*")
        if _has_it_in_redis(redis, key)
    }


#: how a value of each type is read: a dump may be packed, and would hide a marker
READ = {
    "string": ("GET",),
    "hash": ("HGETALL",),
    "list": ("LRANGE", 0, -1),
    "set": ("SMEMBERS",),
    "zset": ("ZRANGE", 0, -1),
    "stream": ("XRANGE", "-", "+"),
}


def _has_it_in_redis(redis: Redis, key: bytes) -> bool:
    """Whether a key or its value has it, as it is or packed as RQ packs jobs and results."""
    kind = redis.type(key).decode()
    if kind == "none":  # it has expired meanwhile
        return False
    command, *values = READ[kind]
    texts = [key, *_texts(redis.execute_command(command, key, *values))]
    return any(_has("", one) or _has("", _decoded(one)) for one in texts)


def _decoded(text: bytes) -> bytes:
    """The bytes of a text in base64, in which RQ keeps results; none if it is not."""
    with suppress(binascii.Error):
        return b64decode(text, validate=True)
    return b""


def _texts(value: object) -> Iterator[bytes]:
    """All bytes in an answer of Redis."""
    if isinstance(value, bytes):
        yield value
    elif isinstance(value, dict):
        yield from _texts([*value, *value.values()])
    elif isinstance(value, list | tuple | set):
        for one in value:
            yield from _texts(one)


@pytest.fixture
def site(make_site):
    links = "".join(f"<a href={path}>to {path}</a>" for path in ("/secret", "/a", "/b"))
    return make_site({"/": links, "/secret": said("3"), "/a": f"<p>{TEXT}</p>", "/b": "b"})


@pytest.fixture
def runs(site, crawl_to_the_end, work_off, django_user_model):
    first = crawl_to_the_end(f"{site.url}/", extract={"heading": "h2"})
    hook = {"name": "hook", "url": f"{site.url}/hook", "events": ["page changed"]}
    save_listener(hook, by=django_user_model.objects.create_user("ada"))
    create_watch(first.crawl, WatchFields("pattern", "/secret$"), by=None)
    site.pages["/secret"] = said("4")
    second = work_off(start_run(first.crawl))
    compare_watched(first.crawl_id)
    return first, second


def made_of(runs, site) -> None:
    """Everything that is derived from stored pages."""
    (first, second), user = runs, browser("operator")
    for run in runs:
        catch_up(run.pk)
        read_to_the_end(run)
        run_job(open_job(PROBLEM_COUNTS, run, by=None).pk)
        run_in_this_process(open_job(LINK_GRAPH, run, by=None))
    for kind in (WACZ, MIRROR, LATEST_MIRROR):
        run_job(request_export(second, kind).pk)
    run_job(request_extraction(first, {"all": "p", "cell": "td"}, by=None).pk)
    look(user, runs, site)
    tried = {"name": "tried", "seeds": [f"{site.url}/secret"]}
    user.post("/api/v1/drafts/test-fetches", tried, content_type="application/json")
    for inquiry in Inquiry.objects.filter(ended_at=None):
        run_job(inquiry.pk)
    look(user, runs, site)


def look(user, runs, site) -> None:
    """Users open what quotes the page, which asks the questions that jobs answer."""
    first, _ = runs
    crawl = first.crawl_id
    old, new = (Page.objects.get(run=run, url__url=f"{site.url}/secret").pk for run in runs)
    assert user.get(f"/api/v1/crawls/{crawl}/pages/{new}/tables").status_code in (200, 202)
    for path in (
        f"crawls/{crawl}/pages/",
        f"crawls/{crawl}/pages/{new}/",
        f"crawls/{crawl}/compare/{old}/{new}/",
        f"crawls/{crawl}/copies/passages/{old}/{new}/",
        f"crawls/{crawl}/compare/?against=1",
        f"crawls/{crawl}/link-changes/?against=1",
        f"crawls/{crawl}/copies/",
        f"crawls/{crawl}/structured-data/",
        f"crawls/{crawl}/extracted/?run=1&rules=x%20=%20h2",
        f"crawls/{crawl}/links/",
        f"crawls/{crawl}/watches/",
        f"crawls/{crawl}/log/",
        f"search/?q={MARKER}",
        f"shared/{create_share_link(first.crawl, days=3, by=None)[1]}/",
    ):
        answer = user.get(f"/{path}")
        assert answer.status_code == 200, path


def test_what_a_withdrawn_page_said_is_nowhere_once_its_records_are_removed(runs, site):
    made_of(runs, site)
    crawl = runs[0].crawl
    assert places() == BEFORE
    tried = Inquiry.objects.get(kind=InquiryKind.TEST_FETCH)
    assert MARKER in str(tried.answer)

    asked = {"kind": "page", "text": f"{site.url}/secret", "reason": "asked for", "by": None}
    remove_records(withdraw_pages(crawl, None, **asked, at_once=True).pk)
    remove_abandoned()
    remove_abandoned_parts()
    remove_deleted_jobs()
    remove_texts_of_abandoned_parts()

    assert places() == set()


@pytest.fixture
def kept() -> Iterator[Redis]:
    """Redis, with nothing of this test in it afterwards."""
    redis = django_rq.get_connection("shifts")
    yield redis
    redis.delete(*redis.scan_iter("kept*"))


def pack(text: str) -> bytes:
    return zlib.compress(text.encode())


@pytest.mark.parametrize(
    "put",
    [
        lambda redis, text: redis.set("kept", text * 9),  # a dump of it is packed
        lambda redis, text: redis.set("kept", pack(text)),
        lambda redis, text: redis.set(f"kept:{text}", 1),
        lambda redis, text: redis.hset("kept", mapping={"data": pack(text)}),
        lambda redis, text: redis.hset("kept", mapping={text: 1}),
        lambda redis, text: redis.rpush("kept", "a", text * 9),
        lambda redis, text: redis.sadd("kept", text),
        lambda redis, text: redis.zadd("kept", {text: 1}),
        lambda redis, text: redis.xadd("kept", {"result": text * 9}),
        lambda redis, text: redis.xadd("kept", {"error": b64encode(pack(text))}),
    ],
)
def test_the_search_finds_what_redis_keeps_in_each_way(put, kept):
    put(kept, f"before {MARKER} after ")

    assert _keys() == {"key kept"}

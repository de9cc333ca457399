"""A document in hand takes its fetch thread's share of memory at the most, wherever it comes from
and however large it is; `make drill` takes documents of 50 MiB.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import random
import resource
import threading
from pathlib import Path
from uuid import UUID

import brotlicffi
import pytest

from crawling.archive import records
from crawling.archive.earlier_answers import EarlierAnswer, answer_of, stored_document
from crawling.fetching.pipeline.conclusion import conclude
from crawling.frontier import ClaimedUrl
from crawling.machine.memory_limit import MIB, MemoryLimit
from crawling.models import ArchiveFile, Page
from crawling.web.addresses import read_address
from crawling.web.document_stream import DocumentStream
from crawling.web.fetch.content_codings import zstd
from tests.crawling.archive.test_records import CAPTURE
from tests.crawling.contexts import make_client, make_fetch_context
from tests.crawling.web.test_other_schemes import serve_ftp

pytestmark = pytest.mark.slow

THREADS = 8
#: a share for each thread, and what unpacking one document and reading another takes
MOST_GROWTH = (THREADS + 40) * MIB
#: a tree has up to 60 MiB, and twice that in the parser's last step
MOST_GROWTH_OF_HTML = (THREADS + 132) * MIB
SIZES = [10, pytest.param(50, marks=pytest.mark.drill)]
CODINGS = {
    "identity": bytes,
    "gzip": lambda body: gzip.compress(body, 1),
    "br": lambda body: brotlicffi.compress(body, quality=2),
    "zstd": zstd.compress,
}


def text(mib: int) -> bytes:
    """Lines that no coding makes much smaller."""
    line = random.Random(mib).randbytes(48 * 1024).hex() + "\n"
    return (line * (mib * MIB // len(line) + 1)).encode()[: mib * MIB]


def growth_of(work) -> int:
    """Bytes by which a process grows at the most while so many threads work."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        MemoryLimit()  # as in a work process, free memory goes back to the system
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        done, start = [], threading.Barrier(THREADS)

        def one(number):
            start.wait()
            done.append(work(number))

        threads = [threading.Thread(target=one, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        os.write(write, f"{(after - before) * 1024} {sum(map(bool, done))}".encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as told:
        growth, done = told.read().split()
    os.waitpid(child, 0)
    assert int(done) == THREADS, "a thread failed"
    print(f"{int(growth) / MIB:.0f} MiB")  # for `make drill ARGS=-s`
    return int(growth)


def is_concluded(fetched, url, context) -> bool:
    size = len(fetched.body)
    claimed = ClaimedUrl(1, 5, url, 0, 1, 0.0)
    outcome = conclude(claimed, read_address(url), "127.0.0.1", fetched, context)
    fetched.close()
    return outcome.answer.bytes == size > MIB


def fetching(url, **fields):
    """Fetch the URL in each thread, with the exchange, and read it."""
    context = make_fetch_context(client=make_client(most=64 * MIB))
    for name, value in fields.items():
        setattr(context.client, name, value)
    address = read_address(url)
    return lambda number: is_concluded(
        context.client.get(address, "127.0.0.1", keep=True), url, context
    )


@pytest.mark.parametrize("mib", SIZES)
@pytest.mark.parametrize(
    "coding",
    ["identity", "br", *(pytest.param(name, marks=pytest.mark.drill) for name in ("gzip", "zstd"))],
)
def test_pages(make_site, coding, mib):
    body = CODINGS[coding](text(mib))
    headers = {"Content-Type": "text/plain", "Content-Encoding": coding}
    site = make_site({"/": (200, headers, body)})
    del body

    assert growth_of(fetching(f"{site.url}/")) < MOST_GROWTH


@pytest.mark.drill
@pytest.mark.parametrize("mib", [4, 50])
def test_html(make_site, mib):
    site = make_site({"/": (200, {"Content-Type": "text/html"}, text(mib))})

    assert growth_of(fetching(f"{site.url}/")) < MOST_GROWTH_OF_HTML


@pytest.mark.parametrize("mib", SIZES)
def test_files(tmp_path, mib):
    (tmp_path / "large.txt").write_bytes(text(mib))

    work = fetching(f"file://{tmp_path}/large.txt", directories=[str(tmp_path)])

    assert growth_of(work) < MOST_GROWTH


@pytest.mark.parametrize("mib", SIZES)
def test_files_by_ftp(tmp_path, mib):
    (tmp_path / "large.txt").write_bytes(text(mib))

    with serve_ftp(tmp_path) as url:
        assert growth_of(fetching(f"{url}/large.txt")) < MOST_GROWTH


@pytest.fixture
def stored(tmp_path, settings):
    """A page in an archive file that no row stands for."""

    def store(body: bytes) -> Page:
        settings.ARCHIVE_DIR = tmp_path
        file = ArchiveFile(pk=1, namespace=UUID(int=1), name="f.warc.gz")
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nCache-Control: max-age=9\r\n\r\n"
        digest = hashlib.sha256(body).digest()
        with (tmp_path / "body").open("w+b") as content:
            content.write(body)
            payload = records.measure_payload(head, DocumentStream(content, len(body)), digest)
            answer = b"".join(
                records.gzip_member(records.response_record("<urn:x>", CAPTURE, head, payload))
            )
        request = b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"
        asked = b"".join(
            records.gzip_member(
                records.request_record("<urn:y>", CAPTURE, request, answer="<urn:x>")
            )
        )
        Path(file.path).parent.mkdir(parents=True, exist_ok=True)
        Path(file.path).write_bytes(answer + asked)
        return Page(
            pk=1, archive_file=file, archive_offset=0, archive_length=len(answer),
            bytes=len(body), digest=payload.sha256, status=200, fetch_seconds=0.1,
            address="127.0.0.1", fetched_at=CAPTURE.began_at,
        )  # fmt: skip

    return store


@pytest.mark.parametrize("mib", SIZES)
def test_pages_of_other_crawls(stored, mib):
    page, context = stored(text(mib)), make_fetch_context()

    def work(number):
        fetched = answer_of(page, page, 64 * MIB)
        return fetched and is_concluded(fetched, "http://a.test/", context)

    assert growth_of(work) < MOST_GROWTH


@pytest.mark.parametrize("mib", SIZES)
def test_earlier_documents_that_are_asked_about(stored, mib):
    page = stored(text(mib))
    earlier = EarlierAnswer(page, bytes(page.digest), '"1"', None)

    def work(number):
        document = stored_document(earlier, 64 * MIB)
        return document and len(document.body) == mib * MIB and not document.body.close()

    assert growth_of(work) < MOST_GROWTH

"""A document of which not all was read says so, and why."""

import gzip
import random
import weakref

import pytest

from crawling.web.document_stream import DocumentStream
from crawling.web.documents import pdf, sitemap, tree
from crawling.web.documents.base import DocumentSource, TruncationReason
from crawling.web.documents.registry import read_document, readers_by_type
from tests.crawling.web.documents.test_limits import HTML

pytestmark = pytest.mark.slow

MIB = 2**20
ENTRY = "<url><loc>http://a.test/{}</loc></url>"
LONG = ENTRY.format("{}" + "x" * 4000)
NOISE = random.Random(1).randbytes(20_000)


def urlset(count, entry=ENTRY):
    return f"<urlset>{''.join(entry.format(n) for n in range(count))}</urlset>".encode()


def links(count):
    return "".join(f"<a href=/{n}>" for n in range(count)).encode()


def why(body, content_type="text/html"):
    return read_document(
        DocumentSource(DocumentStream.of(body), "http://a.test/d/e", content_type)
    ).unread


WHOLE = {
    "short HTML": ("text/html", lambda: b"<p>short"),
    "HTML read by slices": ("text/html", lambda: b"<p>long enough for slices" * 1000),
    "as many links as are taken": ("text/html", lambda: links(50_000)),
    "a sitemap": ("text/xml", lambda: urlset(50_000)),
    "a packed sitemap": ("application/gzip", lambda: gzip.compress(urlset(3))),
    "a feed": ("application/rss+xml", lambda: b"<rss><channel><link>/a</link></channel></rss>"),
    "a style sheet": ("text/css", lambda: b"a{}"),
    "text": ("text/plain", lambda: b"http://a.test/"),
    "nothing": ("application/octet-stream", lambda: b""),
    "an image": ("image/png", lambda: b"x"),
    "a font": ("font/woff2", lambda: b"x"),
}
CUT = {
    "large HTML": (
        "text/html",
        lambda: b"<p>%s</p>" % (b"x" * 993) * (5 * 1024),
        TruncationReason.SIZE,
    ),
    "HTML that grows": (
        "text/html",
        lambda: HTML["formatting opened again"](MIB),
        TruncationReason.MEMORY,
    ),
    "too many links": ("text/html", lambda: links(50_001), TruncationReason.LINKS),
    "a long sitemap": ("text/xml", lambda: urlset(50_001), TruncationReason.LINKS),
    "long addresses": ("text/xml", lambda: urlset(2500, LONG), TruncationReason.LINKS),
    "a large feed": (
        "text/xml",
        lambda: b"<rss>" + b"<item/>" * (3 * MIB // 7),
        TruncationReason.SIZE,
    ),
    "a cut sitemap": (
        "text/xml",
        lambda: gzip.compress(urlset(3) + NOISE)[:-9999],
        TruncationReason.BROKEN,
    ),
    "a large sheet": ("text/css", lambda: b"a{}" * (5 * MIB // 3), TruncationReason.SIZE),
    "no PDF": ("application/pdf", lambda: b"no PDF", TruncationReason.TYPE),
    "octets": ("application/octet-stream", lambda: b"x", TruncationReason.TYPE),
    "a program": ("text/javascript", lambda: b"x", TruncationReason.TYPE),
    "JSON that is no feed": ("application/json", lambda: b"{}", TruncationReason.TYPE),
    "large text": ("text/plain", lambda: b"x " * (5 * MIB // 2), TruncationReason.SIZE),
    "no end of PDF": (
        "application/pdf",
        lambda: b"%PDF-1.7 and nothing else",
        TruncationReason.BROKEN,
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_what_was_read_to_its_end_says_nothing(name, monkeypatch):
    for module in (tree, sitemap):  # a slow machine has the time
        monkeypatch.setattr(module, "MOST_SECONDS", 60)
    content_type, make = WHOLE[name]

    assert why(make(), content_type) is None


@pytest.mark.parametrize("name", CUT)
def test_what_was_not_says_why(name, monkeypatch):
    for module in (tree, sitemap):  # a slow machine has the time
        monkeypatch.setattr(module, "MOST_SECONDS", 60)
    content_type, make, said = CUT[name]

    assert why(make(), content_type) == said


def test_a_packed_sitemap_that_is_larger_than_one_may_be_is_read_in_part(monkeypatch):
    monkeypatch.setattr(sitemap, "MOST_BYTES", 100_000)

    assert why(gzip.compress(urlset(5000)), "application/gzip") == TruncationReason.SIZE
    assert why(urlset(5000), "text/xml") == TruncationReason.SIZE


def test_what_takes_more_memory_than_there_is_says_so(monkeypatch):
    def runs_out(source):
        raise MemoryError

    monkeypatch.setitem(readers_by_type(), "text/plain", runs_out)
    assert why(b"x", "text/plain") == TruncationReason.NO_MEMORY


def test_what_it_took_is_free_before_its_failure_is_logged(monkeypatch, caplog):
    """Other threads run while the log is written, and need memory themselves."""

    class Tree:
        pass

    def runs_out(source):
        tree = Tree()
        trees.append(weakref.ref(tree))
        raise MemoryError

    def note(record):
        is_free.append(trees[0]() is None)
        return True

    trees, is_free = [], []
    monkeypatch.setitem(readers_by_type(), "text/plain", runs_out)
    monkeypatch.setattr("crawling.web.documents.registry.logger.filters", [note])
    why(b"x", "text/plain")

    assert is_free == [True]


def test_what_takes_more_time_than_there_is_says_so(monkeypatch):
    for module in (tree, sitemap):
        monkeypatch.setattr(module, "MOST_SECONDS", -1)
    monkeypatch.setattr(tree, "LOOK_SECONDS", 0)
    monkeypatch.setattr(pdf, "LONGEST_SECONDS", 0.001)

    assert why(b"<p>" * 10_000) == TruncationReason.TIME
    assert why(urlset(5000), "text/xml") == TruncationReason.TIME
    assert why(b"%PDF-1.7", "application/pdf") == TruncationReason.NO_TIME


def test_every_reason_has_its_sentence():
    assert all(reason.sentence.endswith(".") for reason in TruncationReason)

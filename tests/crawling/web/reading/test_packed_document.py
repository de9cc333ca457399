"""A read document is the same after its way between two processes, and wrong bytes are refused."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawling.web.content.script_signs import ScriptSign
from crawling.web.content.text_facts import TextFacts
from crawling.web.document_stream import DocumentStream
from crawling.web.documents import html
from crawling.web.documents.base import (
    Document,
    DocumentMetadata,
    DocumentSource,
    ReadingRules,
    TruncationReason,
)
from crawling.web.links import Links
from crawling.web.reading import packed_document
from crawling.web.reading.packed_document import Unpacker, pack_document

PAGE = b"""<!doctype html><html lang="de"><head><title>Seiten</title><base href="/deep/">
<meta name="author" content="A. Nother"><meta name="description" content="About &#xD800; it">
<link rel="canonical" href="/here"></head><body><nav><a href="a?b=c#d" rel="nofollow">Eins</a></nav>
<a href="//[::1]:8080/x">Zwei</a><a href="https://other.example/">Drei</a><a href="http://[">no</a>
<p class="price">3,50</p><p class="price">4</p></body></html>"""
#: characters of a document's texts: all but the one that the parser replaces
texts = st.text(st.characters(exclude_characters="\0"), max_size=60)
signs = st.sampled_from(ScriptSign)
urls = st.lists(st.text(string.ascii_letters + "/?=&", max_size=20), max_size=12)


def read(body, **rules):
    stream = DocumentStream.of(body)
    return html.read(
        DocumentSource(stream, "http://site.example/", "text/html", None, ReadingRules(**rules))
    )


@pytest.mark.parametrize(
    "document",
    [
        read(PAGE),
        read(PAGE, obey_nofollow=True, requisites=True, extract={"price": ".price"}),
        read(b""),
        read(b"<script>document.write(1)</script>"),
        Document(unread=TruncationReason.LINKS),
    ],
    ids=["page", "with rules", "empty", "made by scripts", "read in part"],
)
def test_a_document_is_the_same_after_its_way(document):
    assert (
        Unpacker().unpack(pack_document(document, TextFacts(document.text, has_key=True)))[0]
        == document
    )


@given(texts, texts, urls, st.lists(st.tuples(texts, texts), max_size=3), signs, st.binary())
def test_whatever_is_in_it(title, text, found, extracted, sign, written):
    links = Links("https://site.example/a/b")
    links.add_all(found)
    about = DocumentMetadata(author=title, canonical=text)
    document = Document(
        title,
        "utf-8",
        links.found,
        text,
        about,
        script_sign=sign,
        extracted=extracted,
        written=written,
        base=title,
    )

    assert (
        Unpacker().unpack(pack_document(document, TextFacts(document.text, has_key=True)))[0]
        == document
    )


@given(st.data())
def test_wrong_bytes_are_refused_or_are_a_document(data):
    packed = bytearray(pack_document(read(PAGE, extract={"price": ".price"}), TextFacts("words")))
    for _ in range(data.draw(st.integers(1, 4))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    try:
        document, _ = Unpacker().unpack(bytes(packed[data.draw(st.integers(0, 3)) :]))
    except ValueError:
        return

    assert all(isinstance(link.url, str) and link.port >= 0 for link in document.links)


def test_remembered_addresses_are_bounded(monkeypatch):
    monkeypatch.setattr(packed_document, "MOST_SHARED", 10)
    unpacker, links = Unpacker(), Links("https://site.example/")
    links.add_all([f"/{number}" for number in range(8)] + ["/" + "x" * 400])
    for beginning in "abc":
        links.add_all([f"/{beginning}{number}" for number in range(8)])
        document = Document(links=list(links.found))
        assert (
            unpacker.unpack(pack_document(document, TextFacts(document.text, has_key=True)))[0]
            == document
        )

    unpacker.unpack(pack_document(Document(links=links.found[:3]), TextFacts("")))
    assert len(unpacker._known) == 3


@pytest.mark.parametrize("is_listed", [False, True])
@pytest.mark.parametrize("text", ["", "few", "some words " * 30, "words of any \ud800 kind " * 200])
@pytest.mark.parametrize("has_key", [False, True])
def test_so_are_the_facts_of_its_text(text, has_key, is_listed):
    def facts():
        return TextFacts(text, "http://a.example/?b=1", "few", has_key=has_key, is_listed=is_listed)

    _, found = Unpacker().unpack(pack_document(Document(text=text), facts()))

    assert facts_in(found) == facts_in(facts())


def facts_in(facts):
    return facts.abstract, facts.simhash, facts.key, facts.marks


@pytest.mark.parametrize(
    ("facts", "unread"),
    [
        (TextFacts.from_values("", 2**70, None, ()), None),
        (TextFacts.from_values("", None, -(2**64), ()), None),
        (TextFacts.from_values("", None, None, ()), TruncationReason.COPY),
        (TextFacts.from_values("", None, None, ()), TruncationReason.BUSY),
    ],
    ids=["simhash", "key", "copy", "busy"],
)
def test_what_no_reader_of_html_says_is_refused(facts, unread):
    with pytest.raises(ValueError, match=r"64 bits|such a reason"):
        Unpacker().unpack(pack_document(Document(unread=unread), facts))

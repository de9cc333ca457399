"""No bytes whatever raise, whatever they are said to be."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawling.web.addresses import read_address
from crawling.web.document_stream import DocumentStream
from crawling.web.documents.base import MAX_TITLE_LENGTH, MOST_TEXT, DocumentSource, ReadingRules
from crawling.web.documents.registry import read_document, readers_by_type

#: those that start a program are tried on a few by their own tests
TYPES = sorted(readers_by_type().keys() - {"application/pdf", "application/x-pdf"})
PIECES = [
    "<rss>",
    "<feed xml:base=",
    "<link",
    "<loc>",
    "</loc>",
    "<urlset>",
    "<![CDATA[",
    "]]>",
    "<!DOCTYPE x [",
    "<!ENTITY a 'b'>",
    "&a;",
    "&#xD800;",
]
PIECES += [
    "<title>",
    "<script>",
    "<meta name=",
    "<a href=",
    "<img srcset=",
    "<base href=",
    "<!--",
    "<?xml",
    'encoding="utf-16"?>',
    "\0",
    "\ud7ff",
    "é中",
]
PIECES += [
    "@import ",
    "url(",
    "\\",
    "'",
    '"',
    ")",
    ">",
    "=",
    "//",
    "http://",
    "http://a.test/x",
    "http://[",
    " ",
    "\n",
]
bodies = st.binary(max_size=200) | st.lists(st.sampled_from(PIECES), max_size=30).map(
    lambda parts: "".join(parts).encode()
)
charsets = (
    st.none()
    | st.sampled_from(["gbk", "utf-16", "iso-2022-jp", "utf-7", "base64", "x", "\0"])
    | st.text(max_size=8)
)
readings = st.sampled_from(
    [
        ReadingRules(),
        ReadingRules(
            obey_nofollow=True, requisites=True, extract={"x": "a", "y": "img::attr(srcset)"}
        ),
    ]
)

CORPUS = [
    b"<" * 100_000,
    b"<div>" * 100_000 + b"<a href=/x>",
    b"<a " + b"x=y " * 50_000,
    b"<p><a href=/x>" * 20_000,
    b"<![CDATA[" * 50_000,
    b"&" * 100_000,
    b"<!--" * 50_000,
    b"url(" * 50_000,
    b"/*" * 50_000,
    b"@import '" * 30_000,
    b"http://" * 30_000,
    b"(http://a.test/" + b")" * 50_000,
    b"<?xml version='1.0' encoding='utf-16'?>" + b"<a/>" * 10,
    b"\xff\xfe" + b"\x00\xd8" * 1000,
    b"\x1f\x8b\x08" + b"\0" * 1000,
    b"<a href='" + b"x" * 1_000_000 + b"'>",
    b"<rss>" * 50_000,
    b"<urlset><url><loc>" + b"a" * 500_000,
]


def check(source):
    document = read_document(source)

    texts = [
        document.title,
        document.charset,
        document.text,
        *document.metadata,
    ]
    texts += [text for row in document.extracted for text in row]
    "".join(texts).encode()
    assert "\0" not in "".join(texts)
    assert len(document.title) <= MAX_TITLE_LENGTH
    assert len(document.text) <= MOST_TEXT
    assert all(read_address(address.url) == address for address in document.links)


@given(bodies, st.sampled_from(TYPES), charsets, readings)
@example(b"<feed xml:base=", "text/xml", None, ReadingRules())
def test_no_bytes_whatever_raise(body, content_type, charset, reading):
    check(
        DocumentSource(
            DocumentStream.of(body), "http://a.test/d/e?f", content_type, charset, reading
        )
    )


@pytest.mark.parametrize("number", range(len(CORPUS)))
@pytest.mark.timeout(20)
def test_hostile_documents_are_read_in_moments(number):
    for content_type in TYPES:
        check(
            DocumentSource(DocumentStream.of(CORPUS[number]), "http://a.test/d/e?f", content_type)
        )

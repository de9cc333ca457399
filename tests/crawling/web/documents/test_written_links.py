"""The links are collected, whatever the document."""

from __future__ import annotations

import time

import turbohtml
from hypothesis import given
from hypothesis import strategies as st

from crawling.web.document_stream import DocumentStream
from crawling.web.documents.base import DocumentSource
from crawling.web.documents.html import read
from crawling.web.documents.written_links import (
    IN_PLACES,
    MARK,
    LinkPlacement,
    WrittenLink,
    all_links,
    has_plain_links,
    pack_links,
    plain_links,
    resolved_links,
)

URL = "http://example.org/directory/page"


def links_of(html: bytes) -> list[WrittenLink]:
    document = read(DocumentSource(DocumentStream.of(html), URL, "text/html", "utf-8"))
    return list(resolved_links(document.written, URL, base=document.base, charset=document.charset))


def test_links_start_from_the_stated_base_and_in_the_charset_of_the_page():
    html = b'<meta charset=latin1><base href="/other/"><a href="x?q=\xe9#f">y</a><a href=#g>z</a>'
    document = read(DocumentSource(DocumentStream.of(html), URL, "text/html", None))
    first, second = resolved_links(
        document.written, URL, base=document.base, charset=document.charset
    )

    assert (first.target, first.fragment) == ("http://example.org/other/x?q=%E9", "f")
    assert (second.target, second.fragment) == ("http://example.org/other/", "g")


@given(st.lists(st.text(max_size=20), max_size=5), st.text(max_size=20))
def test_no_text_of_a_document_moves_the_fields(texts, rel):
    html = "".join(
        f'<a href="/{number}" rel="{rel}">{text}</a>' for number, text in enumerate(texts)
    )
    found = links_of(html.encode(errors="replace"))

    assert all(link.target.startswith("http://example.org/") for link in found)
    assert all(link.element == "a" and link.attribute == "href" for link in found)
    assert all(MARK not in "".join(link) for link in found)


def test_links_within_each_other_cost_no_more_than_they_may():
    html = b"<object><a href=%d>" * 20_000
    document = turbohtml.parse(html % tuple(range(20_000)), positions=False)
    links = all_links(document.links())
    began = time.thread_time()
    pack_links(links, LinkPlacement(document))

    assert time.thread_time() - began < 2


PIECES = (
    "<a href=' /a '>x</a>", "<a href='#part'>x</a>", "<a href=''>x</a>", "<a href=' '>x</a>",
    "<a href>x</a>", "<a>x</a>", "<A HREF='/UP?q=1#p'>x</A>", "<svg><a href=/s>x</a></svg>",
    "<svg><a xlink:href=/x>x</a></svg>", "<template><a href=/t>x</a></template>",
    "<a ping='/p' href=/b>x</a>", "<noscript><a href=/n>x</a></noscript>", "<a href=/a>x</a>",
    "<map><area href=/area></map>", "<iframe src=/frame></iframe>", "<p><link rel=next href=/l>",
    "<link rel='next up' href=' /next '>", "<link rel=next href=''>", "<img src=/i alt=image>",
    "<link rel=stylesheet href=/sheet>", "<style>p {}</style>", "<style>@import '/s'</style>",
    "<p style='background:url(/i)'>x", "<img srcset='/1 1x, /2 2x'>", "<input type=text>",
    "<input type=image src=/input alt=go>", "<form action=/send><button formaction=/no>",
    "<nav>", "</nav>", "<main>", "</main>", "<article>", "</article>", "<script src=/js></script>",
    "<blockquote cite=/cited>", "<div href=/none>", "<body background=/b>", "<td background=/td>",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_the_short_way_to_links_finds_what_the_general_one_does(html):
    short, general = (turbohtml.parse(html, positions=False) for _ in range(2))
    if has_plain_links(short):
        found, expected = (
            sorted(
                resolved_links(
                    pack_links(links, LinkPlacement(document)), URL, base="", charset="utf-8"
                )
            )
            for document, links in (
                (short, plain_links(short)),
                (general, all_links(general.links())),
            )
        )
        assert found == expected


WITHIN = (
    "<nav>", "</nav>", "<main>", "</main>", "<article>", "</article>", "<aside>", "</aside>",
    "<div>", "</div>", "<a href=/1>x</a>", "<a href=/2>x", "<p>", "text", "<table><tr><td>",
    "</table>", "<b>",
)  # fmt: skip


@given(st.lists(st.sampled_from(WITHIN), max_size=20).map("".join))
def test_the_place_of_a_link_is_the_innermost_around_it(html):
    document = turbohtml.parse(html, positions=False)
    anchors = document.find_all("a")
    around = [anchor.closest(IN_PLACES) for anchor in anchors]

    found = LinkPlacement(document).places_of("a", anchors)

    assert (found or [""] * len(anchors)) == [place.tag if place else "" for place in around]


def test_places_within_and_behind_each_other_cost_no_more_than_they_may():
    for html in ("<nav>" * 5_000 + "<a href=/>x</a>" * 5_000, "<nav></nav><p>" * 20_000):
        document = turbohtml.parse(html, positions=False)
        began = time.thread_time()
        LinkPlacement(document)

        assert time.thread_time() - began < 2

"""The facts of HTML beyond its links: about itself, about following, and whether scripts make
it.
"""

import pytest

from crawling.web.document_stream import DocumentStream
from crawling.web.documents.base import DocumentSource, ReadingRules
from crawling.web.documents.html import read

URL = "http://a.test/d/e"


def document(html, **reading):
    return read(
        DocumentSource(
            DocumentStream.of(html if isinstance(html, bytes) else html.encode()),
            URL,
            "text/html",
            "utf-8",
            ReadingRules(**reading),
        )
    )


def links(html, **reading):
    return [
        address.url.removeprefix("http://a.test") for address in document(html, **reading).links
    ]


@pytest.mark.parametrize(
    ("html", "target"),
    [
        ('<meta http-equiv="refresh" content="5; url=/x">', "/x"),
        ("<META HTTP-EQUIV=Refresh CONTENT='0;URL=\"/x\"'>", "/x"),
        ('<link rel="alternate" hreflang="de" href="/x">', "/x"),
        ('<link rel="canonical" href="/x">', "/x"),
        ("<frameset><frame src=/x></frameset>", "/x"),
    ],
)
def test_a_refresh_another_language_and_the_preferred_address_are_followed(html, target):
    assert links(html) == [target]


@pytest.mark.parametrize(
    "html",
    [
        '<img src="/x">',
        '<img srcset="/x 2x">',
        '<picture><source srcset="/x 100w"></picture>',
        '<script src="/x"></script>',
        '<link rel="stylesheet" href="/x">',
        '<link rel="icon" href="/x">',
        '<video poster="/x"></video>',
        '<audio src="/x"></audio>',
        '<embed src="/x">',
        '<object data="/x"></object>',
        "<style>@import '/x'; </style>",
        "<p style='background: url(/x)'>",
    ],
)
def test_what_a_page_is_shown_with_is_fetched_if_the_order_says_so(html):
    assert links(html) == []
    assert links(html, requisites=True) == ["/x"]


def test_every_size_of_a_picture_is_a_requisite():
    assert links("<img src=/1 srcset='/2 1x, /3 2x'>", requisites=True) == ["/1", "/2", "/3"]


@pytest.mark.parametrize(
    ("html", "obeyed"),
    [
        ("<a rel=nofollow href=/x>x</a><a href=/y>y</a>", ["/y"]),
        ("<a rel='external NoFollow' href=/x>x</a>", []),
        ("<meta name=robots content='noindex, nofollow'><a href=/x>x</a>", []),
        ("<meta name=ROBOTS content=NONE><a href=/x>x</a>", []),
        ("<meta name=robots content=noindex><a href=/x>x</a>", ["/x"]),
    ],
)
def test_nofollow_is_obeyed_if_the_order_says_so(html, obeyed):
    assert "/x" in links(html)
    assert links(html, obey_nofollow=True) == obeyed


def test_a_page_tells_who_wrote_it_and_what_it_is_about():
    page = document(
        "<html lang=de><meta name=author content=' A.  Writer'><meta name=Description "
        "content='About\nit'>"
        "<meta property=og:description content=other><link rel=canonical "
        "href=./main?x#y><p>Text</p><script>no</script><style>no</style>"
    )

    assert (
        page.metadata.author,
        page.metadata.description,
        page.metadata.language,
        page.metadata.canonical,
    ) == (
        "A. Writer",
        "About it",
        "de",
        "http://a.test/d/main?x",
    )
    assert page.text.strip() == "Text"


@pytest.mark.parametrize(
    "html",
    [
        "<title>App</title><div id=root></div><script src=/app.js></script>",
        "<noscript>You need to enable JavaScript to run this app, since nothing at all is here "
        "without it.</noscript>"
        "<div id=app>Loading…</div><script type=module>import '/x.js'</script>",
        "<link rel=alternate href=/feed><script src=/app.js></script>",
    ],
)
def test_a_page_that_its_scripts_make_needs_a_browser(html):
    assert document(html).needs_browser


@pytest.mark.parametrize(
    "html",
    [
        "<p>A short page without scripts.</p>",
        "<script src=/app.js></script><a href=/x>There is a link.</a>",
        "<script src=/app.js></script>" + "<p>There is text enough to read.</p>" * 5,
        "<script type=application/ld+json>{}</script>",
        "",
    ],
)
def test_a_page_that_can_be_read_needs_none(html):
    assert not document(html).needs_browser

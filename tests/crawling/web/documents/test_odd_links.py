"""Links in odd but legal places and forms, as browsers take them."""

from __future__ import annotations

import pytest

from crawling.web.document_stream import DocumentStream
from crawling.web.documents.base import DocumentSource, ReadingRules, TruncationReason
from crawling.web.documents.html import refresh_target
from crawling.web.documents.registry import read_document

URL = "http://a.test/d/e"


def read(body, content_type="text/html", **reading):
    body = body.encode() if isinstance(body, str) else body
    rules = ReadingRules(**reading)
    return read_document(DocumentSource(DocumentStream.of(body), URL, content_type, "utf-8", rules))


def paths(body, content_type="text/html", **reading):
    found = read(body, content_type, **reading).links
    return [link.url.removeprefix("http://a.test") for link in found]


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0;url=/a", "/a"),
        ("0; URL = '/a' x", "/a"),
        ('0;url="/a"b', "/a"),
        ("0;/a", "/a"),
        ("0 /a", "/a"),
        ("0,/a", "/a"),
        ("0 ; /a", "/a"),
        (" \n5.5\t,\n url\n=\n/a", "/a"),
        (".5;/a", "/a"),
        ("0;urls=/a", "urls=/a"),
        ("0;url", "url"),
        ("0;'/a", "/a"),
        ("0;url='/a", "/a"),
        ("0;;/a", ";/a"),
        ("600", ""),
        ("0;", ""),
        ("0;url=", ""),
        ("x;/a", ""),
        ("-1;/a", ""),
        (";/a", ""),
        ("0x;/a", ""),
        ("", ""),
    ],
)
def test_a_refresh_is_read_by_the_standards_steps(content, target):
    assert refresh_target(content) == target


def test_every_refresh_of_a_page_counts_whatever_else_its_element_says():
    page = """<meta name=x http-equiv=REFRESH content='0 /1'><meta http-equiv=refresh content=600>
        <meta http-equiv=refresh content='0;/2'><meta name=refresh content='0;/no'><a href=/3>x</a>
        <noscript><meta http-equiv=refresh content='1;url=/4'></noscript>"""

    assert sorted(paths(page)) == ["/1", "/2", "/3", "/4"]


@pytest.mark.parametrize(
    ("page", "leads"),
    [
        ("<meta name=robots content=noindex><meta name=robots content=nofollow>", []),
        ("<meta name=ROBOTS content='index, NONE'>", []),
        ("<meta name=robots content='index,follow'><meta name=OurBot content=nofollow>", []),
        ("<meta name=otherbot content=nofollow>", ["/a", "/b", "/c", "/d"]),
        ("<meta property=robots content=nofollow>", ["/a", "/b", "/c", "/d"]),
        ("<meta name=robots content='nofollowing'>", ["/a", "/b", "/c", "/d"]),
    ],
)
def test_a_page_may_ask_all_crawlers_or_this_one_not_to_follow(page, leads):
    page += "<a href=/a>x</a><a href=/b>x</a><link rel=next href=/c><area href=/d>"

    assert sorted(paths(page, obey_nofollow=True, robots_token="ourbot")) == leads
    assert len(paths(page)) == 4


def test_a_link_that_its_page_does_not_vouch_for_is_not_followed():
    page = "".join(
        f"<a rel='{rel}' href='/{number}'>x</a>"
        for number, rel in enumerate(["nofollow", "UGC x", "x sponsored", "noopener", ""])
    )

    assert paths(page, obey_nofollow=True) == ["/3", "/4"]


def test_drawings_have_links_and_no_title_of_the_page():
    page = """<body><svg><title>drawing</title><a xlink:href=/1><text>x</text></a><a href=/2></a>
        <image xlink:href=/i1 /><image href=/i2 /><use href=/u1#x /><use xlink:href=/u2 />
        <filter><feImage href=/f /></filter></svg><title>page</title>"""

    assert read(page).title == "page"
    assert sorted(paths(page)) == ["/1", "/2"]
    shown = ["/1", "/2", "/f", "/i1", "/i2", "/u1", "/u2"]
    assert sorted(paths(page, requisites=True)) == shown
    drawing = page[len("<body>") : page.index("<title>page")]
    drawing = drawing.replace(
        "<svg", '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"'
    )
    assert sorted(paths(drawing, "image/svg+xml", requisites=True)) == shown
    script = '<svg xmlns="http://www.w3.org/2000/svg"><script>x()</script></svg>'
    assert not read(script, "image/svg+xml").needs_browser


def test_a_page_in_a_frames_attribute_has_links_from_the_page_around_it():
    page = """<base href=/up/><iframe srcdoc='<a href=1>x</a><a rel=nofollow href=/2>x</a>
        <img src=3><meta name=robots content=nofollow>'></iframe>"""

    assert paths(page) == ["/up/1", "/2"]
    assert sorted(paths(page, requisites=True)) == ["/2", "/up/1", "/up/3"]
    assert paths(page, obey_nofollow=True) == ["/up/1"]


@pytest.mark.parametrize(
    ("sheet", "found"),
    [
        (r"a { background: url('/\31 \41') }", "/1A"),
        (r"a { background: url( /a\ b\)c ) }", "/a%20b)c"),
        (r"a { background: U\52 l(/1) }", "/1"),
        (r"a { background: u\000072l('/1') }", "/1"),
        (r"@\69mport '/1';", "/1"),
        ("@IMPORT/**/'/1' layer(x) supports(display: grid) screen;", "/1"),
        ("@import url( '/1' )screen;", "/1"),
        (r"a { background: url('a\\72 ') }", "/d/a/72"),
    ],
)
def test_escapes_of_sheets_are_read_wherever_the_sheet_is(sheet, found):
    assert paths(sheet, "text/css") == [found]
    assert paths(f"<style>{sheet}</style>", requisites=True) == [found]
    if sheet.startswith("a {"):
        style = sheet[3:-2].replace('"', "&quot;")
        assert paths(f'<p style="{style}">x</p>', requisites=True) == [found]


def test_backgrounds_and_image_sets_are_what_a_page_is_shown_with():
    page = """<body background=/b><table background=/t><tr background=/r><td background=/c></table>
        <p style="background: image-set('/1' 1x, url(/2) 2x)">x</p><bgsound src=/s>
        <style>p { background: -webkit-image-set("/3" 1x, "/4" type("image/avif") 2x) }</style>
        <link rel=preload imagesrcset='/5 1x, /6 2x' href=/7><embed src=/e><object data=/o>"""

    assert sorted(paths(page, requisites=True)) == sorted(
        f"/{name}" for name in ("b", "t", "r", "c", "s", "e", "o", *range(1, 8))
    )
    sheet = """@import '/i'; a { background: image-set("/1" 1x, url("/2") 2x, '/\\33' 3x) }
        b { content: "/no" } c { background: image-set(linear-gradient(red, blue) 1x, "/4") }"""
    assert sorted(paths(sheet, "text/css")) == ["/1", "/2", "/3", "/4", "/i"]


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("/page #x", "/page%20"),
        (" /page  #x ", "/page%20%20"),
        ("/page\n#x", "/page"),
        ("/page \t#x", "/page%20"),
        ("/page ", "/page"),
        ("/page?q #x", "/page?q%20"),
        ("/page#x ", "/page"),
        ("/page# x", "/page"),
    ],
)
def test_a_blank_before_a_fragment_belongs_to_the_address(written, path):
    assert paths(f'<a href="{written}">x</a>') == [path]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("详见http://a.test/1。谢谢", ["/1"]),
        ("地址：http://a.test/1，谢谢", ["/1"]),
        ("「http://a.test/1」です", ["/1"]),
        ("【http://a.test/1】（http://a.test/2）《http://a.test/3》", ["/1", "/2", "/3"]),
        ("见http://a.test/1；http://a.test/2！http://a.test/3？", ["/1", "/2", "/3"]),
        ("“http://a.test/1”、‘http://a.test/2’", ["/1", "/2"]),
        ("http://a.test/1\u3000http://a.test/2｡", ["/1", "/2"]),
        ("http://a.test/日本 x", ["/%E6%97%A5%E6%9C%AC"]),
        ("xhttp://a.test/1 9https://a.test/2 éhttp://a.test/3", ["/3"]),
    ],
)
def test_addresses_in_scripts_without_blanks_end_at_their_marks(text, found):
    assert paths(text, "text/plain") == found


TOO_LONG = "http://a.test/" + "l" * 4096
LONGEST = "http://a.test/" + "l" * (4096 - len("http://a.test/"))
#: documents of each kind with a link that is longer than a URL may be between two others
WITH_LONG = {
    "html": ("text/html", "<a href=/1><a href='{}'><a href=/2>"),
    "assets": ("text/html", "<a href=/1><img src='{}'><a href=/2>"),
    "sitemap": (
        "application/xml",
        "<urlset><url><loc>http://a.test/1</loc></url><url><loc>{}</loc></url>"
        "<url><loc>http://a.test/2</loc></url></urlset>",
    ),
    "atom": (
        "application/atom+xml",
        "<feed><entry><link href='/1'/></entry><entry><link href='{}'/></entry>"
        "<entry><link href='/2'/></entry></feed>",
    ),
    "json feed": (
        "application/feed+json",
        '{{"items": [{{"url": "/1"}}, {{"url": "{}"}}, {{"url": "/2"}}]}}',
    ),
    "css": ("text/css", "a {{ src: url(/1), url({}), url(/2) }}"),
    "text": ("text/plain", "Of http://a.test/1 and {} and http://a.test/2 all."),
    "text sitemap": ("text/plain", "http://a.test/1\n{}\nhttp://a.test/2\n"),
}


@pytest.mark.parametrize("kind", WITH_LONG)
def test_a_link_that_is_too_long_is_told_and_costs_no_other(kind):
    content_type, text = WITH_LONG[kind]
    with_long = read(text.format(TOO_LONG), content_type, requisites=True)
    with_longest = read(text.format(LONGEST), content_type, requisites=True)

    assert [link.url[13:] for link in with_long.links] == ["/1", "/2"]
    assert with_long.unread is TruncationReason.LENGTH
    assert [link.url[13:] for link in with_longest.links] == ["/1", LONGEST[13:], "/2"]
    assert with_longest.unread is None


def test_a_link_that_grows_too_long_when_it_is_written_as_a_url_is_told():
    assert read(f"<a href='/{'雪' * 600}'>").unread is TruncationReason.LENGTH
    assert read(f"<a href='/{'雪' * 400}'>").unread is None
    assert read(f"<a href='#{'f' * 9000}'><a href='data:,{'d' * 9000}'>").unread is None

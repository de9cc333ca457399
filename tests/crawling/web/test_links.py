"""The links, title and character set of an HTML document (SEEDS B5, W9)."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from html import escape

import pytest
from bs4 import BeautifulSoup
from hypothesis import example, given
from hypothesis import strategies as st

from crawling.web import links as links_module
from crawling.web.addresses import BadUrl, read_address
from crawling.web.document_stream import DocumentStream
from crawling.web.documents.base import DocumentSource, ReadingRules
from crawling.web.documents.html import PAGE_RELATIONS
from crawling.web.documents.html import read as read_html
from crawling.web.links import Links

URL = "http://a.test/d/e?f"
GBK_PAGE = '<meta http-equiv="content-type" content="text/html; charset=gbk"><title>中文</title>'


def read(html, *, charset=None, url=URL, **reading):
    body = html if isinstance(html, bytes) else html.encode()
    return read_html(
        DocumentSource(DocumentStream.of(body), url, "text/html", charset, ReadingRules(**reading))
    )


def links(html, **options):
    return [address.url for address in read(html, **options).links]


@pytest.mark.parametrize(
    "html",
    [
        '<a href="/x">x</a>',
        "<A HREF=/x>x",
        '<map><area href="/x"></map>',
        '<frameset><frame src="/x"></frameset>',
        '<iframe src="/x"></iframe>',
        '<svg><a href="/x">x</a></svg>',
        '<noscript><a href="/x">x</a></noscript>',
        *(f'<link rel="{relation}" href="/x">' for relation in sorted(PAGE_RELATIONS)),
        '<link rel="alternate stylesheet" href="/x">',
        '<link rel="last" href="/x">',
        '<link rel="first nofollow" href="/x">',
        '<link rel="previous" href="/x">',
        '<link rel="license" href="/x">',
        '<link rel="NEXT" href="/x">',
    ],
)
def test_every_element_that_leads_to_a_page_is_a_link(html):
    assert links(html) == ["http://a.test/x"]


@pytest.mark.parametrize(
    "html",
    [
        '<link rel="stylesheet" href="/x">',
        '<link rel="icon" href="/x">',
        '<link href="/x">',
        '<img src="/x" srcset="/y 2x">',
        '<script src="/x"></script>',
        '<form action="/x"></form>',
        '<a name="x">x</a>',
        '<a href="#part">x</a>',
        '<a href="">x</a>',
        '<a href="mailto:me@a.test">x</a>',
        "<a href=\"javascript:go('/x')\">x</a>",
        '<a href="gopher://a.test/x">x</a>',
        '<a href="http://me:secret@a.test/x">x</a>',
        '<a href="http://[broken/x">x</a>',
        '<!-- <a href="/x">x</a> -->',
        '<script>document.write("<a href=/x>x</a>")</script>',
        f'<a href="{URL}">myself</a>',
        f'<a href="{URL}#part">myself</a>',
    ],
)
def test_what_leads_to_no_other_page_is_no_link(html):
    assert links(html) == []


def test_links_come_in_document_order_and_each_once():
    html = (
        '<a href=/b>1</a><iframe src=/c></iframe><a href="/b#x">2</a><area href=/a><a '
        'href="http://A.TEST/c">3</a><a href=/b>4</a>'
    )

    assert links(html) == ["http://a.test/b", "http://a.test/c", "http://a.test/a"]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<a href=x>", ["http://a.test/d/x"]),
        ("<a href='  x\n'>", ["http://a.test/d/x"]),
        ("<a href='x\ny'>", ["http://a.test/d/xy"]),
        ("<a href=../x>", ["http://a.test/x"]),
        ("<a href=?x>", ["http://a.test/d/e?x"]),
        ("<a href=//b.test>", ["http://b.test/"]),
        ("<a href='x?a=1&amp;b=2&copy=3'>", ["http://a.test/d/x?a=1&b=2&copy=3"]),
        ("<base href=/o/><a href=x>", ["http://a.test/o/x"]),
        ("<a href=x><base href=/o/><base href=/p/>", ["http://a.test/o/x"]),
        (
            "<base href=http://b.test/o/><a href=x><a href=//c.test/>",
            ["http://b.test/o/x", "http://c.test/"],
        ),
        ("<base href=/o/><a href='#part'><a href=''>", ["http://a.test/o/"]),
        ("<base href=mailto:x><a href=x>", ["http://a.test/d/x"]),
        ("<base target=_blank><a href=x>", ["http://a.test/d/x"]),
    ],
)
def test_links_are_made_absolute(html, expected):
    assert links(html) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p><b><a href=/x>x</p></b></a></div><a href=/y>", ["http://a.test/x", "http://a.test/y"]),
        ("<a href=/x<b>>x", ["http://a.test/x%3Cb"]),
        ("<a href='/x' href='/y'>x", ["http://a.test/x"]),
        ("<table><a href=/x>x</table>", ["http://a.test/x"]),
        ("<a href=/x><a href=/y><a href='/z", ["http://a.test/x", "http://a.test/y"]),
        ("<a href=/x\0y>", ["http://a.test/x%EF%BF%BDy"]),
        ("<div>" * 50_000 + "<a href=/x>", ["http://a.test/x"]),
        ("", []),
        ("<" * 1000, []),
    ],
)
def test_broken_markup_is_read_as_browsers_read_it(html, expected):
    assert links(html) == expected


@pytest.mark.parametrize(
    ("body", "charset", "title"),
    [
        ("<title>中文</title>".encode("gb2312"), "gb2312", "中文"),
        ('<meta charset="gb2312"><title>中文</title>'.encode("gb2312"), None, "中文"),
        (GBK_PAGE.encode("gbk"), None, "中文"),
        ("<title>日本語</title>".encode("shift_jis"), "Shift_JIS", "日本語"),
        ("<title>日本語</title>".encode("utf-16"), None, "日本語"),
        ("<title>日本語</title>".encode("utf-16-be"), "utf-16be", "日本語"),
        ("<title>日本語</title>".encode(), "utf-8", "日本語"),
        ("<title>日本語</title>".encode(), None, "日本語"),
        ("<title>é</title>".encode("latin-1"), None, "é"),
        ("\ufeff<title>日本語</title>".encode(), "gb2312", "日本語"),
        ("<title>日本語</title>".encode(), "no-such-charset", "日本語"),
        ("<title>日本語</title>".encode(), "base64", "日本語"),
        ("<title>日本語</title>".encode(), "utf\0-8", "日本語"),
        ("<title>日本語</title>".encode(), "", "日本語"),
    ],
)
def test_the_character_set_is_the_servers_or_the_documents_or_a_good_guess(body, charset, title):
    assert read(body, charset=charset).title == title


@pytest.mark.parametrize(
    ("charset", "query"),
    [
        ("gb2312", "%D6%D0%CE%C4"),
        ("utf-8", "%E4%B8%AD%E6%96%87"),
        ("utf-16le", "%E4%B8%AD%E6%96%87"),
        ("windows-1252", "%26%2320013%3B%26%2325991%3B"),
        ("x-mac-cyrillic", "%26%2320013%3B%26%2325991%3B"),
    ],
)
def test_a_path_goes_out_in_utf_8_and_a_query_in_the_documents_character_set(charset, query):
    html = '<a href="/&#20013;?q=&#20013;&#25991;&amp;r=1&amp;s=%20">'.encode(
        "utf-16-le" if charset == "utf-16le" else "ascii"
    )

    assert links(html, charset=charset) == [f"http://a.test/%E4%B8%AD?q={query}&r=1&s=%20"]


def test_a_title_is_one_line_of_bounded_length():
    assert (
        read("<title>\n A\t title\0  of &lt;mine&gt; </title>").title == "A title\ufffd of <mine>"
    )
    assert len(read(f"<title>{'x' * 10_000}</title>").title) == 500
    assert read("<p>no title</p>").title == ""


pieces = [
    "<a href=",
    "<base href=",
    "<link rel=next href=",
    "<frameset>",
    "<title>",
    "<!--",
    "</a>",
    ">",
    '"',
    "'",
]
pieces += ["http://", "//", "?", "&#xD800;", "&#0;", "é", "中", "\0"]
bodies = st.binary(max_size=300) | st.lists(st.sampled_from(pieces)).map(
    lambda parts: "".join(parts).encode()
)
charsets = (
    st.none()
    | st.text(st.characters(max_codepoint=255), max_size=12)
    | st.sampled_from(["gbk", "shift_jis", "utf-16", "iso-2022-jp"])
)


@given(bodies, charsets)
@example(b"\xff\xfe<\x00a\x00", "utf-16")
@example('<a href="/?中">'.encode("iso-2022-jp"), "iso-2022-jp")
def test_no_bytes_whatever_raise(body, charset):
    document = read(body, charset=charset)

    (document.title + document.charset).encode()
    assert "\0" not in document.title + document.charset
    assert len({address.url for address in document.links}) == len(document.links)
    assert all(read_address(address.url) == address for address in document.links)


hrefs = st.one_of(
    st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=12),
    st.sampled_from(
        [
            "/",
            "x",
            "../y",
            "?q=1",
            "#part",
            "",
            "//b.test/z",
            "http://c.test",
            "mailto:m@a.test",
            "x y",
            "ü",
            "?ü",
            "&amp;",
        ]
    ),
)
elements = st.tuples(
    st.sampled_from(["a", "area", "iframe", "p", "img", "link"]), hrefs, st.text(max_size=8)
)


@given(st.none() | hrefs, st.lists(elements, max_size=12))
def test_the_links_are_those_that_beautiful_soup_finds(base, parts):
    head = "" if base is None else f'<base href="{escape(base)}">'
    body = "".join(element(*part) for part in parts)
    html = f"<!doctype html><html><head>{head}</head><body>{body}</body></html>".replace(
        "\0", ""
    ).replace("\r", "")

    assert set(links(html, charset="utf-8")) == set(links_by_soup(html))


def element(tag, target, text):
    attributes = {
        "iframe": f'src="{escape(target)}"',
        "link": f'rel="next" href="{escape(target)}"',
    }.get(tag, f'href="{escape(target)}"')
    return (
        f"<{tag} {attributes}>{escape(text)}</{tag}>"
        if tag in ("a", "iframe", "p")
        else f"<{tag} {attributes}>"
    )


def links_by_soup(html):
    """The slow definition: every element in turn, every href joined."""
    soup = BeautifulSoup(html, "html.parser")
    base = soup.find("base", href=True)
    origin = joined(base["href"], URL) or URL if base else URL
    for node in soup.find_all(["a", "area", "frame", "iframe", "link"]):
        target = node.get("src" if node.name in ("frame", "iframe") else "href")
        url = joined(target, origin) if target and target.strip(" ") else None
        if url and url != URL:
            yield url


def joined(text, base):
    try:
        return read_address(text, base).url
    except BadUrl:
        return None


@given(
    st.from_regex(r"\A[/.~_a-z0-9:?\\-]{0,12}\Z"),
    st.sampled_from(
        [
            URL,
            "http://a.test/d/other?g",
            "https://a.test:8443/",
            "http://[::1]/x/y?z/w",
            "http://a.test./d/",
            "http://a.test/a%2eb/e",
            "file:///a/b",
            "ftp://a.test/b",
        ]
    ),
)
@example("a/../b", URL)
@example("a/./b", URL)
@example("//b.test/x", URL)
@example("...", URL)
@example("//", URL)
@example("x/://y", URL)
@example("é://y", URL)
@example("http:?x", URL)
@example("http:?x", "http://a.test/d/other?g")
@example("?x", URL)
@example("?x", "http://a.test/d/other?g")
def test_a_link_is_joined_as_the_standard_says_whichever_way_is_taken(text, base):
    joined = Links(base)
    joined.add(text)

    with suppress(BadUrl):
        expected = read_address(text, base) if text else None
        assert joined.found == ([expected] if expected and expected.url != base else [])
        return
    assert joined.found == []


def test_pages_of_one_directory_write_a_query_each_in_its_own_character_set():
    found = []
    for number, charset in enumerate(("windows-1252", "UTF-8", "windows-1252")):
        page = Links(f"http://a.test/d/{number}", charset=charset)
        page.add("x?q=ä")
        found += [address.url for address in page.found]
    assert found == [f"http://a.test/d/x?q={q}" for q in ("%E4", "%C3%A4", "%E4")]


def test_links_of_more_directories_than_are_remembered_stay_right():
    pages = [Links(f"http://a.test/{number}/") for number in range(200)]
    for _ in range(2):
        for page in pages:
            page.add_all(f"../{number}" for number in range(100))
    for page in pages:
        assert {address.url for address in page.found} == {
            f"http://a.test/{number}" for number in range(100)
        }


def test_what_is_remembered_of_directories_has_a_bound():
    """Most pages of some sites are each in a directory of its own, and all their links absolute."""
    for number in range(60_000):
        page = Links(f"http://a.test/{number}/", charset="")
        page.add_all([f"http://a.test/{number + 1}/", "x.html"])

    assert len(links_module._directories._directories) < 20_000


def test_directories_above_are_found_by_threads_at_once():
    page = "http://a.test/a/b/c/d/"

    def ask(level: int) -> list[str]:
        found = Links(page)
        found.add_all(f"{'../' * level}{number}" for number in range(200))
        return [address.url for address in found.found]

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(ask, [*range(1, 7)] * 40))

    for level, found in zip([*range(1, 7)] * 40, answers, strict=True):
        above = "http://a.test/" + "".join(f"{part}/" for part in "abcd"[: max(0, 4 - level)])
        assert found == [f"{above}{number}" for number in range(200)]


@pytest.mark.parametrize(
    "text", ["data:image/svg+xml,<svg fill='#fff'>", "mailto:a@b.test#c", "javascript:void(0)#"]
)
def test_an_address_that_cannot_be_followed_stays_as_it_is_written(text):
    assert Links("http://a.test/").whole(text) == text

"""Feeds as sources of seeds: which pages they give, and that one is sent again only if it has
changed.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawling.models import SeedSource
from crawling.runs.crawls.creation import create_crawl
from crawling.uses.seed_sources.sources import SeedSourceFields, create_source
from crawling.web.addresses import read_address
from crawling.web.document_stream import DocumentStream
from crawling.web.documents.base import DocumentSource
from crawling.web.documents.feed import entry_urls
from crawling.web.documents.json_feed import BadFeed
from tests.crawling.uses.seed_sources.test_seed_sources import feed, read_again

HOME = "https://a.test/"
RSS = """<?xml version="1.0"?><rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
<link>https://a.test/home</link><atom:link rel="self" href="https://a.test/feed.xml"/>
<image><link>https://a.test/image</link></image>
<item><title>1</title><link> https://a.test/1?a=1&amp;b=2 </link><guid>https://a.test/guid</guid>
  <comments>https://a.test/1/comments</comments><enclosure url="https://a.test/1.mp3"/></item>
<item><guid isPermaLink="true">https://a.test/2</guid></item>
<item><guid isPermaLink="false">https://a.test/no-page</guid></item>
<item><link><![CDATA[/3]]></link></item>
<item><link>/3</link></item>
</channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://a.test/blog/">
<link href="https://a.test/home"/><link rel="next" href="?page=2"/>
<entry><link rel="edit" href="edit/1"/><link rel="alternate" href="1"/>
  <link href="other/1"/></entry>
<entry><source><link href="https://b.test/"/></source><link href="2"/></entry>
<entry><id>tag:a.test,2026:3</id><content type="html">no page</content></entry></feed>"""
RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 xmlns="http://purl.org/rss/1.0/"><channel rdf:about="x"><link>https://a.test/home</link></channel>
<item rdf:about="https://a.test/1"><link>https://a.test/1</link></item></rdf:RDF>"""
MALFORMED = """<rss><channel><item><title>a & b</title><link>https://a.test/1</link></item>
<item><link>https://a.test/2</link></channel>"""


def entries_of(text: str | bytes, content_type: str = "text/xml") -> list[str]:
    body = text if isinstance(text, bytes) else text.encode()
    return entry_urls(DocumentSource(DocumentStream.of(body), f"{HOME}feed", content_type))


@pytest.mark.parametrize(
    ("text", "pages"),
    [
        (RSS, ["1?a=1&b=2", "2", "3"]),
        (ATOM, ["blog/1", "blog/2"]),
        (RDF, ["1"]),
        (MALFORMED, ["1", "2"]),
        ('\ufeff {"items": [{"url": "/1"}]}', ["1"]),
    ],
)
def test_the_pages_of_entries_are_taken_from_each_kind_of_feed(text, pages):
    assert entries_of(text) == [HOME + page for page in pages]


@pytest.mark.parametrize(
    "text",
    ["", "<html><body><p>hello", "<urlset><url><loc>https://a.test/1</loc></url></urlset>", "\0\1"],
)
def test_what_is_no_feed_gives_no_seeds(text):
    with pytest.raises(BadFeed, match="neither RSS nor Atom nor a JSON Feed"):
        entries_of(text)


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE rss [<!ENTITY a "https://a.test/x"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'
        "]><rss><item><link>&b;</link></item></rss>",
        '<!DOCTYPE rss [<!ENTITY f SYSTEM "file:///etc/passwd">]><rss><item><link>&f;</link></item>'
        "</rss>",
    ],
)
def test_entities_of_a_feed_are_not_expanded(text):
    assert all("a.test/x" not in page and "root:" not in page for page in entries_of(text))


def test_entries_within_each_other_are_read_as_deep_as_the_parser_goes():
    deep = "<rss>" + "".join(f"<item><link>/{number}</link>" for number in range(20_000))

    assert entries_of(deep)[:2] == [f"{HOME}0", f"{HOME}1"]


PIECES = (
    *("<rss>", "<feed xml:base='//x/'>", "<item>", "</item>", "<entry>", "<link>", "</link>"),
    *("<link href='/1'/>", "<guid>http://", "<![CDATA[", "<source>", "{", '"items": [', "]]>"),
    *("\0", "\ud7ff", "&a;", "<!DOCTYPE rss [", "http://[", "a:b@c"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_whatever_a_feed_has_it_gives_addresses_or_says_that_it_is_none(text):
    try:
        found = entries_of(text)
    except BadFeed:
        return
    assert [read_address(url).url for url in found] == found


@pytest.fixture
def site(make_site):
    return make_site({"/": "home", "/1": "1", "/2": "2"})


def answer(text: str, **headers: str):
    """A server that knows whether a client has its latest version."""
    headers = {"Content-Type": "application/rss+xml"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }

    def reply(request):
        tag, since = headers.get("ETag"), headers.get("Last-Modified")
        is_same = (tag and request.headers.get("If-None-Match") == tag) or (
            since and request.headers.get("If-Modified-Since") == since
        )
        return (304, headers, "") if is_same else (200, headers, text)

    return reply


def rss(*pages: str) -> str:
    items = "".join(f"<item><link>{page}</link></item>" for page in pages)
    return f"<rss><channel>{items}</channel></rss>"


def asked_for(site) -> list[tuple[str | None, str | None]]:
    """The validators of each request for the feed."""
    return [
        (request.headers.get("If-None-Match"), request.headers.get("If-Modified-Since"))
        for request in site.log
        if request.path == "/feed"
    ]


@pytest.fixture
def source(transactional_db, order, site) -> SeedSource:
    crawl = create_crawl(order(f"{site.url}/"))
    return create_source(crawl, SeedSourceFields("feed", f"{site.url}/feed"), by=None)


@pytest.mark.parametrize(
    ("headers", "asked"),
    [
        ({"ETag": 'W/"one"'}, ('W/"one"', None)),
        (
            {"Last_Modified": "Thu, 01 Jan 2026 10:00:00 GMT"},
            (None, "Thu, 01 Jan 2026 10:00:00 GMT"),
        ),
    ],
)
def test_a_feed_that_has_not_changed_is_not_sent_again(source, site, headers, asked):
    site.pages["/feed"] = answer(rss("/1"), **headers)

    first_at = read_again(source).read_at
    assert (source.added, source.note) == (1, "")
    assert read_again(source).read_at > first_at
    assert (source.added, source.note) == (1, "")
    site.pages["/feed"] = answer(rss("/1", "/2"), ETag='"two"')

    assert read_again(source).added == 2
    assert asked_for(site) == [(None, None), asked, asked]
    assert (source.etag, source.last_modified) == ('"two"', None)


def test_a_feed_is_asked_for_whole_until_all_of_it_was_taken(source, site):
    site.pages["/feed"] = answer(rss("/1", "http://127.0.0.9:8900/"), ETag='"one"')
    note = read_again(source).note
    assert "http://127.0.0.9:8900/ is outside the scope" in note
    assert read_again(source).note == note
    site.pages["/feed"] = answer("<rss", ETag='"broken"')
    read_again(source)
    site.pages["/feed"] = (500, {"ETag": '"trouble"'}, "")
    read_again(source)

    assert asked_for(site)[:3] == [(None, None)] * 3
    assert source.note.startswith("500")


def test_trouble_with_a_feed_does_not_forget_what_was_read(source, site):
    site.pages["/feed"] = answer(rss("/1"), Last_Modified="Thu, 01 Jan 2026 10:00:00 GMT")
    read_again(source)
    kept = datetime(2026, 1, 1, 10, tzinfo=UTC)
    site.pages["/feed"] = (503, {}, "")

    assert read_again(source).note.startswith("503")
    assert source.last_modified == kept


def test_a_feed_that_is_larger_than_is_read_says_so(source, site):
    site.pages["/feed"] = answer(rss("/1") + " " * 2 * 1024 * 1024)

    assert read_again(source).note == "The document is larger than the crawl takes."
    assert source.added == 0


def test_a_json_feed_is_asked_for_in_the_same_way(source, site):
    _, headers, body = feed("/1")
    site.pages["/feed"] = answer(body, **headers, ETag='"one"')
    read_again(source)

    read_again(source)

    assert source.added == 1
    assert asked_for(site)[1] == ('"one"', None)

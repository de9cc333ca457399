"""The entries of feeds, in one form, within limits."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawling.web.document_stream import DocumentStream
from crawling.web.documents.base import DocumentSource
from crawling.web.documents.feed import entry_data
from crawling.web.documents.json_feed import BadFeed
from crawling.web.documents.registry import read_document
from crawling.web.documents.structured_data import MOST_ROWS, StructuredDataReader
from crawling.web.feed_entries import MOST_ENTRIES, MOST_MARKUP, MOST_SUMMARY, text_of_markup

RSS = """<rss xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>Blog</title><item>
<title>One &amp; two</title><link>/1</link><pubDate>Mon, 06 Sep 2021 00:01:00 +0200</pubDate>
<dc:creator>Ann</dc:creator><description>&lt;p&gt;He&lt;b&gt;llo&lt;/b&gt;&lt;/p&gt;&lt;p&gt;you
&lt;script&gt;x()&lt;/script&gt;</description></item><item><guid>https://a.test/2</guid></item>
</channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://a.test/b/"><entry>
<title>One &amp; two</title><link href="https://a.test/1"/><published>2021-09-06T00:01:00+02:00
</published><updated>2021-09-07</updated><author><name>Ann</name></author><summary type="html"
>&lt;p&gt;Hello&lt;/p&gt; you</summary></entry><entry><link href="https://b.test/2"/><updated>
2021-09-07</updated></entry></feed>"""
JSON = """{"items": [{"title": "One & two", "url": "/1", "authors": [{"name": "Ann"}],
"date_published": "2021-09-06T00:01:00+02:00", "content_html": "<p>Hello</p>you"}, {}, 1]}"""
#: not well-formed
MALFORMED = "<rss><item><title>a & b</title><link>/1</link></item><item><link>/2</link></rss>"
#: in UTC
MOMENT = "2021-09-05T22:01:00+00:00"


def source(text, kind="text/xml"):
    return DocumentSource(DocumentStream.of(text.encode()), "https://a.test/feed", kind)


def entries(text):
    kind, found = entry_data(source(text))
    return kind, list(found)


@pytest.mark.parametrize(("text", "kind"), [(RSS, "rss"), (ATOM, "atom"), (JSON, "json")])
def test_entries_of_each_kind_say_the_same(text, kind):
    of_kind, (first, *_) = entries(text)

    assert of_kind == kind
    assert (first.title, first.url, first.author) == ("One & two", "https://a.test/1", "Ann")
    assert (first.published, first.summary) == (MOMENT, "Hello you")


def test_what_an_entry_does_not_say_is_empty():
    second = entries(RSS)[1][1]

    assert second.url == "https://a.test/2"
    assert not any(second._replace(url=""))


def test_a_feed_that_is_not_well_formed_has_its_entries_with_their_pages():
    _, found = entries(MALFORMED)

    assert [entry.url for entry in found] == ["https://a.test/1", "https://a.test/2"]
    assert found[0].title == "a & b"


def test_other_documents_have_none():
    with pytest.raises(BadFeed):
        entry_data(source("<urlset><url><loc>/1</loc></url></urlset>"))


def test_rows_have_a_title_a_kind_and_the_rest_as_json():
    reader = StructuredDataReader("https://a.test/feed")

    reader.read_feed(*entry_data(source(ATOM)))

    assert [(row.kind, row.type, row.name) for row in reader.rows] == [
        ("entry", "atom", "One & two"),
        ("entry", "atom", ""),
    ]
    assert reader.rows[1].value == (
        '{"url": "https://b.test/2", "updated": "2021-09-07T00:00:00+00:00"}'
    )


@pytest.mark.parametrize("text", [RSS, ATOM])
def test_dates_of_entries_say_when_pages_of_the_same_site_were_changed(text):
    modified = read_document(source(text)).modified

    assert list(modified) == ["https://a.test/1"]
    assert f"{modified['https://a.test/1']:%d}" == ("07" if text is ATOM else "05")


ITEM = "<item><title>a</title><link>/1</link><description>{}</description></item>"
HOSTILE = {
    "many": ITEM.format("b") * 40_000,
    "large": ITEM.format("&lt;b&gt;&lt;p&gt;" * 10_000) * 15,
    "nested": "<item><title>a</title>" * 90_000,
    "one large summary": ITEM.format("x" * 2**21),
    "no dates": "<item><link>/1</link><pubDate>1111111</pubDate></item>" * 40_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_feed_takes_little_time(name):
    feed = source(f"<rss>{HOSTILE[name]}</rss>")
    reader = StructuredDataReader(feed.url)
    began = time.process_time()

    found = read_document(feed)
    reader.read_feed(*entry_data(feed))

    assert time.process_time() - began < 4
    assert len(found.modified) <= MOST_ENTRIES
    assert len(reader.rows) <= MOST_ROWS + 1


def test_a_summary_has_a_bounded_length_and_is_taken_of_a_bounded_markup():
    assert len(text_of_markup("<p>" + "word " * 9_000)) == MOST_SUMMARY
    assert text_of_markup("<i>" * MOST_MARKUP + "behind") == ""


PIECES = (
    *("<rss>", "<feed xml:base='//x/'>", "<item>", "</item>", "<entry>", "<link>", "</link>"),
    *("<title>", "<pubDate>", "2021-01-01", "<author>", "<name>", '{"items": [', '{"url": "/"}'),
    *('"authors": [', "<description>", "<![CDATA[<b>", "]]>", "\0", "\ud7ff", "]}"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_whatever_a_feed_has_its_entries_can_be_kept(text):
    reader = StructuredDataReader("https://a.test/feed")
    try:
        reader.read_feed(*entry_data(source(text)))
    except BadFeed:
        return
    for row in reader.rows:
        assert "\0" not in row.name + row.value

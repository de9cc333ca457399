"""An answer decides its URL's end, its page and its links."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawling.fetching.pipeline.conclusion import conclude
from crawling.frontier import ClaimedUrl
from crawling.models import UrlState
from crawling.orders.scope.scope import Reach, Scope
from crawling.web.addresses import read_address
from crawling.web.document_stream import DocumentStream
from crawling.web.fetch.http import Fetched
from crawling.web.politeness import MAX_ATTEMPTS
from crawling.web.statuses import TRANSIENT, UNWANTED, FetchStatus
from tests.crawling.contexts import make_fetch_context

HTML = {"Content-Type": "text/html; charset=utf-8"}


def concluded(status, *, body=b"", headers=HTML, depth=0, attempts=1, max_depth=None, **fields):
    scope = Scope(Reach.HOST, frozenset({"a.test"}), max_depth)
    context = make_fetch_context(scope=scope)
    claimed = ClaimedUrl(1, 5, "http://a.test/", depth, attempts, 0.0)
    return conclude(
        claimed,
        read_address(claimed.url),
        "192.0.2.1",
        Fetched(status, headers, DocumentStream.of(body), **fields),
        context,
    )


def found(outcome):
    return [(link.address.url, link.depth, link.via) for link in outcome.links]


def test_a_page_brings_its_links_in_scope_one_deeper():
    outcome = concluded(
        200, body=b"<title>T</title><a href=/x><a href=http://b.test/><a href=/y>", depth=3
    )

    assert (outcome.state, outcome.status, outcome.error) == (UrlState.SUCCEEDED, 200, "")
    assert found(outcome) == [("http://a.test/x", 4, 5), ("http://a.test/y", 4, 5)]
    assert (outcome.answer.summary.title, outcome.answer.final_url, outcome.answer.address) == (
        "T",
        "http://a.test/",
        "192.0.2.1",
    )


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (404, HTML),
        (501, HTML),
        (200, {"Content-Type": "image/png"}),
        (200, {"Content-Type": "application/pdf"}),
        (200, {"Content-Type": "application/x-sh"}),
    ],
)
def test_errors_and_other_documents_are_leaves(status, headers):
    outcome = concluded(status, headers=headers, body=b"<a href=/x>")

    assert found(outcome) == []
    assert outcome.answer.bytes == 11


def test_a_page_without_a_type_is_read_by_its_bytes():
    page, plain, image = (
        concluded(200, headers={}, body=body)
        for body in (b"<a href=/x>", b"a <a href=/x>", b"\x89PNG\r\n\x1a\n<a href=/x>")
    )

    assert found(page) == [("http://a.test/x", 1, 5)]
    assert found(plain) == found(image) == []


def test_links_beyond_the_depth_limit_are_not_kept():
    assert found(concluded(200, body=b"<a href=/x>", depth=2, max_depth=2)) == []


@pytest.mark.parametrize(
    ("depth", "location", "links"),
    [
        (0, "http://www.a.test/", [("http://www.a.test/", 0, 5)]),
        (1, "http://www.a.test/", []),
        (1, "/x", [("http://a.test/x", 1, 5)]),
    ],
)
def test_a_redirect_leads_as_deep_as_it_stands_and_that_of_a_seed_anywhere(depth, location, links):
    outcome = concluded(302, headers={"Location": location}, depth=depth, max_depth=1)

    assert outcome.state == UrlState.SUCCEEDED
    assert found(outcome) == links


@pytest.mark.parametrize(
    ("location", "status"),
    [
        ("", FetchStatus.REDIRECT_NOWHERE),
        ("mailto:me@a.test", FetchStatus.REDIRECT_NOWHERE),
        ("http://[broken", FetchStatus.REDIRECT_NOWHERE),
        ("file:///etc/passwd", FetchStatus.REDIRECT_NOWHERE),
        ("/", FetchStatus.REDIRECT_LOOP),
        ("http://a.test/#here", FetchStatus.REDIRECT_LOOP),
    ],
)
def test_a_redirect_that_leads_to_no_other_address_has_failed(location, status):
    outcome = concluded(302, headers={"Location": location})

    assert (outcome.state, outcome.status, found(outcome)) == (UrlState.FAILED, status, [])
    assert outcome.answer.status == 302


@pytest.mark.parametrize("status", sorted(TRANSIENT))
def test_what_may_be_different_in_a_moment_goes_back_until_it_had_enough(status):
    again, last = (
        concluded(status, attempts=MAX_ATTEMPTS - 1),
        concluded(status, attempts=MAX_ATTEMPTS),
    )

    assert (again.state, again.answer) == (UrlState.QUEUED, None)
    assert again.retry_seconds > 0
    assert (last.state, last.retry_seconds, bool(last.error)) == (UrlState.FAILED, None, True)
    assert (last.answer is not None) == (status > 0)


@pytest.mark.parametrize("status", sorted(set(FetchStatus) - TRANSIENT))
def test_what_will_not_change_ends_at_once_without_a_page(status):
    outcome = concluded(status)

    assert outcome.state == (UrlState.EXCLUDED if status in UNWANTED else UrlState.FAILED)
    assert (outcome.answer, outcome.retry_seconds, outcome.error) == (None, None, status.sentence)


latin = st.text(st.characters(max_codepoint=255), max_size=20)


@given(
    st.integers(100, 999),
    st.sampled_from(["text/html", "text/html; charset=", ""]),
    latin,
    latin,
    st.binary(max_size=100),
)
def test_whatever_a_server_sends_can_be_stored(status, content_type, charset, location, body):
    outcome = concluded(
        status, headers={"Content-Type": content_type + charset, "Location": location}, body=body
    )

    texts = [outcome.error, *(link.address.url for link in outcome.links)]
    if outcome.answer:
        texts += [
            outcome.answer.content_type,
            outcome.answer.summary.charset,
            outcome.answer.summary.title,
            outcome.answer.final_url,
        ]
        assert -(2**63) <= outcome.answer.fingerprint < 2**63
    assert not any("\0" in text for text in texts)
    "".join(texts).encode()


@pytest.mark.parametrize(
    ("page", "abstract"),
    [
        ("<p>Use <code>x</code>, <i>y</i>.", "Use x, y."),
        ("<p>(<b>one</b>) and [<b>two</b>]<em>!</em>", "(one) and [two]!"),
        ("<p>(<b><i></i></b>)<p>; so", "(); so"),
        ("<h1>One</h1><p>Two</p>", "One Two"),
    ],
)
def test_the_abstract_reads_like_the_text_whatever_is_marked_within_a_sentence(page, abstract):
    assert concluded(200, body=page.encode()).answer.text.abstract == abstract

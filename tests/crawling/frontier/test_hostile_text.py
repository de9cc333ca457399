"""Hostile text of servers must never stop a crawl."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from crawling.frontier.record.outcome_writer import RecordingState, record_all
from crawling.frontier.types import DocumentSummary, ServerAnswer, UrlOutcome
from crawling.models import Page, RunProcess, Url, UrlState
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.shift_lifecycle import begin_shift
from crawling.runs.start import start_run
from crawling.web import politeness
from crawling.web.statuses import FetchStatus
from tests.crawling.frontiers import candidates


def answer(**changes) -> ServerAnswer:
    fields = {
        "status": 200,
        "final_url": "http://x/",
        "content_type": "",
        "bytes": 1,
        "fingerprint": 1,
    }
    return ServerAnswer(
        **{
            **fields,
            "address": "127.0.0.1",
            "fetch_seconds": 0.1,
            "fetched_at": datetime.now(UTC),
            **changes,
        }
    )


@pytest.fixture
def shift(order):
    run = start_run(create_crawl(order("http://127.0.0.1:8900/a", "http://127.0.0.1:8900/b")))
    shift = begin_shift(RunProcess.objects.get(run=run), epoch=1, worker="me")
    run.urls.update(state=UrlState.IN_PROCESS, shift=shift)
    return shift


def test_nul_and_broken_characters_are_left_out(shift):
    url = Url.objects.first()
    outcome = UrlOutcome(
        url.pk,
        UrlState.FAILED,
        500,
        "a\0b",
        answer=answer(
            content_type="text/\0html", summary=DocumentSummary(title="half \ud800", charset="\0")
        ),
    )

    record_all(shift, [outcome], numbers=[0], memory=RecordingState(), lengths={})

    url.refresh_from_db()
    assert (url.error, url.page.title, url.page.content_type, url.page.charset) == (
        "ab",
        "half ?",
        "text/html",
        "",
    )


@pytest.mark.parametrize(
    ("depth", "links"), [(1, 1), (2**70, 0)], ids=["its page", "its links, too"]
)
def test_what_the_database_refuses_fails_alone(shift, depth, links):
    """No other page that leads where it led tells the frontier so again."""
    good, bad = Url.objects.order_by("pk")
    outcomes = [
        UrlOutcome(
            bad.pk,
            UrlState.SUCCEEDED,
            200,
            answer=answer(bytes=2**70),
            links=candidates("127.0.0.1:8900/c", depth=depth),
        ),
        UrlOutcome(good.pk, UrlState.SUCCEEDED, 200, answer=answer()),
    ]

    record_all(shift, outcomes, numbers=[0], memory=RecordingState(), lengths={})

    bad.refresh_from_db()
    assert (bad.state, bad.status) == (UrlState.FAILED, -99)
    assert [page.url_id for page in Page.objects.all()] == [good.pk]
    assert Url.objects.filter(url__endswith="/c").count() == links


@pytest.mark.parametrize(
    "page",
    [
        (200, {"Content-Type": "text/html; charset=\x00"}, "<title>a\x00b</title>"),
        (200, {"Content-Type": "text/html; charset=utf-7"}, "+ADw-a"),
        (200, {"Content-Type": "text/html"}, b"\xff\xfe\x00<\x00"),
        (999, {"Content-Type": "text/html"}, "what?"),
        (302, {"Location": "http://[::1"}, ""),
        (302, {"Location": "\xff\xfe"}, ""),
        (200, {"Content-Encoding": "gzip", "Content-Type": "text/html"}, b"not gzip"),
        (200, {"Content-Length": "99"}, "short"),
    ],
    ids=[
        "nul",
        "utf-7",
        "half a utf-16",
        "status 999",
        "bad location",
        "binary location",
        "false gzip",
        "too short",
    ],
)
def test_a_strange_answer_costs_one_page(page, make_site, crawl_to_the_end, monkeypatch):
    monkeypatch.setattr(politeness, "FIRST_RETRY_SECONDS", 0.01)
    monkeypatch.setitem(politeness.BACKOFFS, int(FetchStatus.TIMED_OUT), (0.01, 0.01))
    site = make_site(
        {"/": '<a href="/strange">x</a><a href="/fine">x</a>', "/strange": page, "/fine": "fine"}
    )

    run = crawl_to_the_end(f"{site.url}/", first_byte_seconds=0.2, read_seconds=0.2)

    assert run.state == "finished"
    assert Url.objects.get(url__endswith="/fine").state == UrlState.SUCCEEDED
    assert -99 not in run.urls.values_list("status", flat=True)

"""Answers that are wrong, or that never end, in their framing."""

from __future__ import annotations

from crawling.rules.statuses import FetchStatus
from tests.webs.case import Case, answer, links


def breaks_off(talk):
    talk.send(answer(b"half", {"Content-Length": "100"}))


CASES = [
    Case(
        "a page and a link",
        {"/": answer(links("/a")), "/a": answer("a")},
        pages_end={"/a": ("s", 200)},
        small=True,
    ),
    Case(
        "a body shorter than its stated length",
        breaks_off,
        verdict=("f", FetchStatus.BROKEN_ANSWER),
        tries=3,
        seconds=25,
        small=True,
    ),
    Case(
        "no HTTP at all",
        b"220 ready\r\n\r\n",
        verdict=("f", FetchStatus.BROKEN_ANSWER),
        tries=3,
        seconds=25,
        small=True,
    ),
    Case(
        "an answer larger than the filter lets in",
        answer(b"x" * 100_000),
        verdict=("x", FetchStatus.TOO_LARGE),
        order={"max_document_bytes": 10_000},
        small=True,
    ),
]

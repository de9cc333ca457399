"""The background jobs that search for copies, and compare texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crawling.jobs.temporary_grant import temporary_grant
from crawling.previews.jobs import question_kind

#: a user waits, so no longer; a shift that others wait for ends within its slice of a minute
GRANT_SECONDS = 45.0

# SciPy and the search index would slow the start of all other jobs: they are imported here.


def _clusters(question: Mapping[str, Any], number: int) -> dict[str, Any]:
    from crawling.uses.copies.clusters import answer_clusters, mebibytes

    wanted, label = {"memory": mebibytes(question)}, f"search for copies {number}"
    with temporary_grant(wanted, label=label, reference=str(number), wait_seconds=GRANT_SECONDS):
        return answer_clusters(question)


def _pages(question: Mapping[str, Any], number: int) -> dict[str, Any]:
    from crawling.uses.copies.supplied import answer_text

    return answer_text(question)


def _passages(question: Mapping[str, Any], number: int) -> dict[str, Any]:
    from crawling.uses.copies.supplied import answer_passages

    return answer_passages(question)


COPIES = question_kind("copies", "search for copies", _clusters)
TEXT_COPIES = question_kind("text_copies", "search for copies of a text", _pages)
PASSAGES = question_kind("passages", "comparison of passages", _passages)
KINDS = (COPIES, TEXT_COPIES, PASSAGES)

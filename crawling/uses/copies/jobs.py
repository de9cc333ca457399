"""The background jobs that search for copies and compare texts, with their questions and
answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from pydantic import TypeAdapter

from crawling.base.encrypted_text import SealBroken
from crawling.base.errors import BadOrder, NotFound
from crawling.jobs.temporary_grant import temporary_grant
from crawling.models import Inquiry, Page, Run
from crawling.previews.inquiries import ask_once, question_of, start_inquiry
from crawling.previews.jobs import question_kind
from crawling.previews.run_comparison import comparison_stamp
from crawling.uses.copies.results import Clusters, PageWithText, SharedText

#: the longest wait for units, since a user waits for the answer; a shift ends within a minute if
#: others wait
GRANT_SECONDS = 45.0
#: the largest supplied text
MOST_BYTES = 1024 * 1024
LEAST_WORDS = 5
CLUSTERS = TypeAdapter(Clusters)
PAGES = TypeAdapter(list[PageWithText])
SHARED = TypeAdapter(SharedText)


# the functions below import SciPy and the search index, which would slow the start of all other
# jobs


def _find_clusters(question: Mapping[str, Any], number: int) -> dict[str, Any]:
    from crawling.uses.copies.clusters import answer_clusters, memory_mebibytes

    wanted, label = {"memory": memory_mebibytes(question)}, f"search for copies {number}"
    with temporary_grant(wanted, label=label, reference=str(number), wait_seconds=GRANT_SECONDS):
        return answer_clusters(question)


def _find_pages(question: Mapping[str, Any], number: int) -> dict[str, Any]:
    from crawling.uses.copies.supplied import answer_text

    return answer_text(question)


def _find_passages(question: Mapping[str, Any], number: int) -> dict[str, Any]:
    from crawling.uses.copies.supplied import answer_passages

    return answer_passages(question)


COPIES = question_kind("copies", "search for duplicates", _find_clusters)
TEXT_COPIES = question_kind("text_copies", "search for duplicates of a text", _find_pages)
PASSAGES = question_kind("passages", "comparison of passages", _find_passages)
KINDS = (COPIES, TEXT_COPIES, PASSAGES)


def request_clusters(
    run: Run, against: Run | None, *, near: bool, skip: int, most: int, by: User | None
) -> Inquiry:
    """Raises InquiriesBusy."""
    question = {
        "run": run.pk,
        "against": against and against.pk,
        "near": near,
        "skip": skip,
        "most": most,
        "moments": [comparison_stamp(one) for one in (run, against) if one],
    }
    return ask_once(COPIES.name, question, by=by, run=run)


def request_text_search(text: str, run: Run, *, by: User | None) -> Inquiry:
    """Request a search for pages that share passages with a text. Raises BadOrder or
    InquiriesBusy.
    """
    if len(text.encode(errors="replace")) > MOST_BYTES:
        raise BadOrder({"text": "It is longer than 1 MiB; give a part of it."})
    if len(text.split()) < LEAST_WORDS:
        raise BadOrder({"text": f"It must have {LEAST_WORDS} words or more."})
    return start_inquiry(TEXT_COPIES.name, {"text": text, "run": run.pk}, by=by, run=run)


def text_inquiry(number: int, crawl: int, *, by: User | None) -> Inquiry:
    """The search for a text that the user has supplied for a run of this crawl. Raises NotFound."""
    inquiry = Inquiry.objects.filter(kind=TEXT_COPIES.name, by=by, pk=number).first()
    runs = Run.objects.filter(crawl=crawl)
    try:
        if inquiry is None or not runs.filter(pk=question_of(inquiry)["run"]).exists():
            raise NotFound("The text is not there any more, or another user has supplied it.")
    except SealBroken as error:
        raise NotFound(str(error)) from error
    return inquiry


def page_of_any_crawl(page_id: int) -> Page:
    """A stored page of any crawl. Raises NotFound."""
    pages = Page.objects.select_related("url", "run__crawl").filter(run__removal_asked_at=None)
    page = pages.filter(pk=page_id).first()
    if page is None:
        raise NotFound(f"There is no page {page_id}.")
    return page


def request_passages(
    page: Page, other: Page | None, text: Inquiry | None, *, by: User | None
) -> Inquiry:
    """Request a comparison of a page with another page or with a supplied text.

    Raises InquiriesBusy.
    """
    question = {
        "page": page.pk,
        "other": other and other.pk,
        "text": question_of(text)["text"] if text else "",
    }
    return ask_once(PASSAGES.name, question, by=by, run=page.run)


def clusters_of_inquiry(inquiry: Inquiry) -> Clusters | None:
    """The clusters of an answer; None if there is no answer yet."""
    return None if inquiry.answer is None else CLUSTERS.validate_python(inquiry.answer)


def pages_of_inquiry(inquiry: Inquiry) -> list[PageWithText] | None:
    return None if inquiry.answer is None else PAGES.validate_python(inquiry.answer["pages"])


def shared_text_of_inquiry(inquiry: Inquiry) -> SharedText | None:
    return None if inquiry.answer is None else SHARED.validate_python(inquiry.answer)

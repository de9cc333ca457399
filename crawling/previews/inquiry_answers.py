"""The work of background jobs on an inquiry. Foreign bytes are read here."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from allocation.errors import AllocationError
from crawling.base.errors import ArchiveTrouble, CrawlError
from crawling.datasets.picture_diff import picture_diff
from crawling.datasets.rendering_diff import compare_with_plain
from crawling.datasets.text_diff import compare_pages
from crawling.installation.identity import identity
from crawling.jobs.running_job import RunningJob
from crawling.models import Inquiry, InquiryKind, Page, RobotsFile
from crawling.previews.inquiries import Answer, question_of
from crawling.previews.run_comparison import answer_comparison
from crawling.previews.seed_fetches import run_test_fetch
from crawling.previews.seed_names import look_up_names
from crawling.web.addresses import read_address
from crawling.web.robots import forbidding_line, read_robots

#: the largest answer that is kept, in bytes of JSON
MOST_BYTES = 4 * 1024 * 1024
TOO_LARGE = "The answer is too large to be kept."


def answer_inquiry(answer: Answer, job: RunningJob) -> dict[str, Any]:
    """Do the work of the job. Raises CrawlError."""
    inquiry = Inquiry.objects.get(pk=job.row.pk)
    try:
        found = answer(question_of(inquiry), inquiry.pk)
    except AllocationError as error:
        raise CrawlError(str(error)) from error
    text = json.dumps(found).replace("\\u0000", "")
    if len(text) > MOST_BYTES:
        raise CrawlError(TOO_LARGE)
    read: dict[str, Any] = json.loads(text)
    return read


def _test_fetch(question: Mapping[str, Any], number: int) -> dict[str, Any]:
    fetches = run_test_fetch(question["order"], number=number)
    return {"items": [asdict(fetch) for fetch in fetches]}


def _text_diff(question: Mapping[str, Any], number: int) -> dict[str, Any]:
    lines = compare_pages(*_stored_pages(question["old"], question["new"]))
    return {"lines": [line._asdict() for line in lines]}


def _picture_diff(question: Mapping[str, Any], number: int) -> dict[str, Any]:
    old, new = _stored_pages(question["old"], question["new"])
    found = picture_diff(old, new)
    return {**found._asdict(), "marked": b64encode(found.marked).decode()}


def _rendering_diff(question: Mapping[str, Any], number: int) -> dict[str, Any]:
    found = compare_with_plain(_stored_pages(question["page"])[0])
    counts = {"plain": found.plain._asdict(), "rendered": found.rendered._asdict()}
    lines = [line._asdict() for line in found.lines]
    return {**found._asdict(), **counts, "lines": lines}


def _stored_pages(*ids: int) -> list[Page]:
    """Raises ArchiveTrouble."""
    pages = Page.objects.select_related("url", "run__crawl", "archive_file").in_bulk(set(ids))
    if len(pages) < len(set(ids)):
        raise ArchiveTrouble("One of the pages was deleted meanwhile.")
    return [pages[pk] for pk in ids]


def _robots_answer(question: Mapping[str, Any], number: int) -> dict[str, Any]:
    address, token = read_address(question["url"]), identity().product_token
    file = RobotsFile.objects.filter(origin=address.origin).first()
    if file is None:
        raise CrawlError("It was forgotten meanwhile.")
    body = bytes(file.body)
    if read_robots(file.status, body, token).allows(address.url):
        return {"said": "allows it"}
    line = forbidding_line(body, token, address.url)
    return {"said": f"forbids it{f' by the line “{line}”' if line else ''}"}


def _run_changes(question: Mapping[str, Any], number: int) -> dict[str, Any]:
    return answer_comparison(question)


ANSWERS: Mapping[InquiryKind, Answer] = {
    InquiryKind.TEST_FETCH: _test_fetch,
    InquiryKind.TEXT_DIFF: _text_diff,
    InquiryKind.PICTURE_DIFF: _picture_diff,
    InquiryKind.RENDERING_DIFF: _rendering_diff,
    InquiryKind.ROBOTS: _robots_answer,
    InquiryKind.RUN_CHANGES: _run_changes,
    InquiryKind.SEED_NAMES: look_up_names,
}

"""The failed requests and console errors of rendered pages, in words."""

from __future__ import annotations

from typing import NamedTuple

from crawling.models import Page
from crawling.web.rendering.types import DoorRefusal
from crawling.web.statuses import status_sentence

WORDS = {
    DoorRefusal.BY_CRAWL: "not requested: this crawl excludes it",
    DoorRefusal.BY_ROBOTS: "refused by robots.txt",
    DoorRefusal.BY_LIMIT: "not requested: a limit of the page was reached",
    DoorRefusal.NO_ANSWER: "no answer",
    DoorRefusal.BY_BROWSER: "not requested: pages may make no such request",
}
ERROR = "error:"


class FailedFile(NamedTuple):
    url: str
    #: why it failed, in words
    reason: str


class PageFaults(NamedTuple):
    """The first failed requests and console errors of a page, as many as its rendition has."""

    failed: list[FailedFile]
    errors: list[str]

    @property
    def first(self) -> str:
        """The first of them; empty without any."""
        if self.failed:
            return f"{self.failed[0].url}: {self.failed[0].reason}"
        return self.errors[0] if self.errors else ""

    @property
    def in_words(self) -> str:
        counts = (len(self.failed), "failed request"), (len(self.errors), "console error")
        told = [f"{count} {name}{'s' * (count != 1)}" for count, name in counts if count]
        return f"{' and '.join(told)}: {self.first}" if told else ""


def faults_of(page: Page) -> PageFaults:
    noted = page.rendition or {}
    return PageFaults(
        [FailedFile(url, _in_words(reason)) for url, reason in noted.get("failed", ())],
        [
            line.removeprefix(ERROR).strip()
            for line in noted.get("console", ())
            if line.startswith(ERROR)
        ],
    )


def _in_words(reason: str) -> str:
    """reason: a DoorRefusal or an HTTP status."""
    return status_sentence(int(reason)) if reason.isdecimal() else WORDS[DoorRefusal(reason)]

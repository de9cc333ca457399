"""The results of a test fetch for each seed, and the clock that it keeps for each host."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from crawling.runs.seed_checks import is_allowable
from crawling.web.addresses import Address, BadUrl, read_address
from crawling.web.fetch.http import Fetched
from crawling.web.statuses import is_redirect, is_success

#: the longest time for one answer
ANSWER_SECONDS = 5.0


@dataclass(frozen=True)
class LinkRuling:
    url: str
    why_not: str


@dataclass(frozen=True)
class SeedTestFetch:
    url: str
    #: the reason why the seed was not tried; if set, the other fields are empty
    note: str = ""
    address: str = ""
    address_class: str = ""
    robots: str = ""
    delay: float = 0.0
    status: int = 0
    sentence: str = ""
    final_url: str = ""
    content_type: str = ""
    charset: str = ""
    title: str = ""
    bytes: int = 0
    links: int = 0
    needs_browser: bool = False
    verdicts: tuple[LinkRuling, ...] = ()
    seconds: float = 0.0

    @classmethod
    def from_answer(cls, said: Mapping[str, Any]) -> SeedTestFetch:
        """The result, restored from JSON."""
        verdicts = tuple(LinkRuling(**verdict) for verdict in said["verdicts"])
        return cls(**{**said, "verdicts": verdicts})

    @property
    def port(self) -> int:
        return read_address(self.url).port

    @property
    def is_closed(self) -> bool:
        """Whether an administrator could allow the address, from which no crawl may fetch yet."""
        return bool(self.address and not self.robots) and is_allowable(self.address, self.port)

    @property
    def succeeded(self) -> bool:
        return is_success(self.status)


@dataclass
class TestFetchClock:
    """The next free moment of a host, in monotonic seconds. Used by one thread."""

    free_at: float
    delay: float
    ends_at: float
    rested_at: float = 0.0

    def wait(self) -> bool:
        """Wait until the host may be asked. Return False at once if that is too late for this
        page.
        """
        if self.free_at > self.ends_at - ANSWER_SECONDS:
            return False
        pause = max(0.0, self.free_at - time.monotonic())
        time.sleep(pause)  # politeness: only this thread waits, and it has no other host
        return True

    def rest(self) -> None:
        self.rested_at = time.monotonic()
        self.free_at = self.rested_at + self.delay

    def delay_changed(self) -> None:
        """Apply the longer delay of robots.txt, beginning with the fetch of robots.txt itself."""
        if self.rested_at:
            self.free_at = max(self.free_at, self.rested_at + self.delay)


def robots_in_words(status: int, line: str) -> str:
    if line:
        return f"forbidden by “{line[:200]}”"
    if 400 <= status < 500:
        return "there is no robots.txt: allowed"
    return "allowed" if 200 <= status < 300 else "could not be had"


def refused_fetch(fetch: SeedTestFetch, refusal: Fetched) -> SeedTestFetch:
    return replace(fetch, status=int(refusal.status), sentence=refusal.error)


def late_fetch(fetch: SeedTestFetch, clock: TestFetchClock) -> SeedTestFetch:
    return replace(
        fetch,
        note=f"Not tried: with {clock.delay:g} s between two fetches from this host its turn "
        "comes too late for this page.",
    )


def target_of(address: Address, fetched: Fetched) -> str:
    if not is_redirect(fetched.status) or not fetched.location:
        return ""
    try:
        return read_address(fetched.location, address.url).url
    except BadUrl as error:
        return str(error)

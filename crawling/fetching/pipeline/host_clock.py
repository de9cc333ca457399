"""The clock of a host: when it may be asked again (by its delay, its Retry-After and the crawl's
remaining budget), whether it can be fetched from, how long to wait until it can, and when it is
given up.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

from crawling.frontier.rules.hosts import NOTHING_SPENT, RequestsSpent
from crawling.orders.sections.politeness import PolitenessPart
from crawling.web.fetch.http import Fetched
from crawling.web.outages import (
    CHECK_PATIENCE_SECONDS,
    Outage,
    host_patience_seconds,
    outage_after,
    pause_seconds_after,
)
from crawling.web.politeness import (
    DOUBTFUL_ROW,
    JITTER,
    backoff_seconds_after,
    delay_seconds_after,
    doubt_pause_seconds,
    page_rest_seconds,
)
from crawling.web.statuses import FetchStatus, may_be_host_fault, status_sentence

#: a host's rest that is shorter than this is no outage
TOLD_SECONDS = 15.0


@dataclass
class RequestBudget:
    """A crawl's budget of requests to a host, and the part that is spent."""

    spent: RequestsSpent = NOTHING_SPENT
    #: whether the host's row counts all of these requests
    is_counted: bool = True
    #: the earliest time of the next request, in monotonic seconds
    free_at: float = 0.0

    def spend(self, politeness: PolitenessPart) -> None:
        """Count a request that has just ended."""
        self.spent, self.is_counted = self.spent.add_request(datetime.now(UTC)), False
        self.keep(politeness)

    def keep(self, politeness: PolitenessPart) -> None:
        """Wait for the next minute or day if the budget is spent."""
        wait = self.spent.seconds_to_wait(politeness, datetime.now(UTC))
        self.free_at = time.monotonic() + wait if wait else 0.0


@dataclass
class HostClock:
    """The clock of one visit. All times are monotonic seconds.

    Only the shift writes the fields that come from the crawl's order, and only the thread that has
    the visit writes all other fields. So no write is lost.
    """

    #: when the host may be asked again, by any crawl
    host_free_at: float
    #: written by the shift alone
    configured_delay: float
    #: written by the shift alone
    politeness: PolitenessPart
    #: robots.txt's
    asked_delay: float = 0.0
    last_fetch_seconds: float = 0.0
    #: URLs in a row, of all crawls, for which the host was overloaded or turned the crawler away
    backoffs: int = 0
    #: whether a page was fetched while several others failed in a row: the failed pages are at
    #: fault, not the host
    is_trusted: bool = False
    #: the answer because of which the host rests for long, as a sentence; "" if there is none
    rest_reason: str = ""
    budget: RequestBudget = field(default_factory=RequestBudget)
    #: nothing can be fetched from the host before this time
    closed_until: float = 0.0
    #: the time of the next try after a failure that is not the host's fault
    waits_until: float = 0.0
    #: no further requests follow, so the remaining URLs need not wait
    is_over: bool = False

    @property
    def free_at(self) -> float:
        """When the next request of this crawl may begin."""
        if self.is_over:
            return 0.0
        return max(self.host_free_at, self.budget.free_at, self.closed_until, self.waits_until)

    @property
    def rests_alone(self) -> bool:
        """Whether another crawl could ask the host sooner."""
        return self.free_at > self.host_free_at

    @property
    def delay(self) -> float:
        """Seconds from the end of a fetch to the next; if a host has two origins, the longer delay
        counts.
        """
        return delay_seconds_after(
            configured=self.configured_delay,
            crawl_delay=self.asked_delay,
            last_fetch=self.last_fetch_seconds,
            factor=self.politeness.delay_factor,
        )

    def rest(
        self,
        status: int,
        seconds: float,
        *,
        asked: float | None = None,
        is_page: bool = True,
        is_first_try: bool = True,
    ) -> None:
        """Wait for the delay after a fetch that has just ended, or for longer if the host may be
        overloaded.

        asked: its Retry-After in seconds. is_page: whether a page was fetched, and not a robots.txt
        or a login, whose failure is no failure of a page. is_first_try: a URL that fails again is
        not counted again.
        """
        self.last_fetch_seconds = seconds
        if is_page and may_be_host_fault(status):
            self.backoffs += is_first_try
        elif is_page and status > 0:
            self.backoffs = 0
        # no secret
        chance = random.random()  # noqa: S311
        if not is_page:
            rest = backoff_seconds_after(status, asked=asked, in_a_row=self.backoffs, chance=chance)
        elif self.backoffs:
            trusted = self.is_trusted
            rest = page_rest_seconds(status, asked=asked, chance=chance, is_trusted=trusted)
        else:  # the URL failed before, while others did not
            rest = 0.0
        self.rest_reason = _rest_reason(status, rest, asked)
        self.budget.spend(self.politeness)
        self.rest_for(max(self.delay, rest))

    def rest_at_fault(self, status: int, asked: float | None) -> None:
        """Wait because the latest answer is about the host itself: for as long as the host asks, or
        longer with each URL in a row that was answered like this.
        """
        # no secret
        chance = random.random()  # noqa: S311
        rest = backoff_seconds_after(status, asked=asked, in_a_row=self.backoffs, chance=chance)
        self.rest_reason = _rest_reason(status, rest, asked)
        self.host_free_at = max(self.host_free_at, time.monotonic() + rest)

    def rest_for_delay(self) -> None:
        """Leave the host alone for at least its delay from now on."""
        self.host_free_at = max(self.host_free_at, time.monotonic() + self.delay)

    def rest_for(self, seconds: float) -> None:
        """Leave the host alone for `seconds` from now on, then continue."""
        self.host_free_at, self.is_over = time.monotonic() + seconds, False

    def come_back_in(self, seconds: float) -> None:
        """Wait for at least `seconds`, for a reason that does not lie with the host."""
        self.waits_until = max(self.waits_until, time.monotonic() + seconds)


@dataclass
class HostAvailability:
    """The availability of one visit's host."""

    clock: HostClock
    #: whether the host has ever answered
    has_answered: bool = False
    #: the outage, if no URL of the host can be fetched
    outage: Outage | None = None
    #: origins from which nothing can be fetched, while another origin of the host can be
    origins: dict[str, Outage] = field(default_factory=dict)
    #: whether the host's row contains the outage, too
    is_kept: bool = True
    #: whether the host is outside the crawl's sites, and only the heads of its answers are wanted
    is_foreign: bool = False
    #: the reason why all URLs of the host fail
    given_up: Fetched | None = None
    #: the latest page that was fetched from the host; a request for it shows whether the host
    #: refuses or single pages fail
    known_page: str = ""
    #: the number of failed pages in a row that makes the host doubtful; more if a known page was
    #: fetched meanwhile
    doubtful_row: int = DOUBTFUL_ROW
    #: the number of pages that failed in a row
    row: int = field(init=False)

    def __post_init__(self) -> None:
        self.row = self.outage.row if self.outage else 0
        self.known_page = self.known_page or (self.outage.known_page if self.outage else "")

    def suspend(self, fetched: Fetched) -> None:
        """Let all URLs of a host that does not answer wait for as long as its outage says, or give
        up the host.
        """
        self._note_outage(fetched, _pause_seconds(self.outage))
        if self.outage and not self.given_up:
            left = (self.outage.retry_at - datetime.now(UTC)).total_seconds()
            self.clock.closed_until = time.monotonic() + left

    def note_refusal(
        self, told: str, status: int, *, is_first_try: bool, asked: float | None
    ) -> bool:
        """Note that a page failed and that its host may be the cause. Return whether the host is
        now doubtful and its URLs wait untried. A page that fails again by itself says nothing new.

        told: the fate of the page, a sentence. asked: its Retry-After in seconds.
        """
        is_doubtful = is_first_try and self.row + 1 >= self.doubtful_row
        if is_doubtful and not self.known_page:
            self.clock.rest_at_fault(status, asked)
        self.row += is_first_try
        rest = self.clock.host_free_at - time.monotonic()
        refused = Fetched(FetchStatus.HOST_BUSY, error=told)
        if is_doubtful:
            self.doubt(refused, asked=asked)
            return True
        if self.row > 1 or rest > TOLD_SECONDS:  # the next visit continues this count
            self._note_outage(refused, rest, may_give_up=False)
            if asked and self.is_foreign and self.is_beyond_patience(rest):
                self._give_up(refused.status)
        return False

    def doubt(self, refused: Fetched, *, asked: float | None, is_known_page: bool = False) -> None:
        """Doubt the host after a row of failed pages, since it may refuse all pages. Request a page
        that was fetched before, if one is known. Otherwise let all pages wait, longer each time.

        asked: the latest Retry-After in seconds. is_known_page: the refused page is the page that
        was fetched before.
        """
        rest = max(0.0, self.clock.host_free_at - time.monotonic())
        begins = bool(self.known_page) and not is_known_page
        tries = self.outage.tries + 1 if self.outage else 1
        # no secret
        pause = rest if begins else max(rest, doubt_pause_seconds(tries, random.random()))  # noqa: S311
        self._note_outage(refused, pause, may_give_up=not begins)
        if asked and not begins and self.is_beyond_patience(rest):
            self._give_up(refused.status)
        if not self.given_up:
            self.clock.closed_until = time.monotonic() + pause

    @property
    def is_doubtful(self) -> bool:
        """Whether a known page is requested before any other."""
        return bool(self.outage and self.outage.is_doubtful and self.outage.known_page)

    def trust(self) -> None:
        """Trust the host again, since its known page was fetched: the failed pages are at fault,
        and more of them will fail.
        """
        self.doubtful_row *= 2
        self.clock.backoffs, self.clock.is_trusted = 0, True
        self.note_page("")

    def note_page(self, url: str) -> None:
        """Note a page whose answer shows that the host does not refuse the crawler. url: a URL
        whose next answer can show this again; may be empty.
        """
        self.row, self.known_page = 0, url or self.known_page
        self.recover()

    def is_beyond_patience(self, seconds: float) -> bool:
        """Whether this is longer than the crawl waits for a page of this host."""
        return seconds > self._patience * (1 + JITTER)

    def recover(self) -> None:
        self.has_answered = True
        if self.outage:
            self.outage, self.is_kept, self.clock.closed_until = None, False, 0.0

    def suspend_origin(self, origin: str, fetched: Fetched) -> None:
        """Let the URLs of this origin alone wait, since another origin of the host answers.

        The origin never answered; otherwise its earlier robots.txt would still hold.
        """
        before = self.origins.get(origin)
        self.origins[origin] = outage_after(
            before,
            fetched.status,
            f"{origin}: {fetched.error or status_sentence(fetched.status)}",
            now=datetime.now(UTC),
            pause_seconds=_pause_seconds(before),
            patience_seconds=host_patience_seconds(
                self.clock.politeness.host_patience_seconds, has_answered=False
            ),
        )
        self.is_kept = False

    def recover_origin(self, origin: str) -> None:
        """Note that the origin can be fetched again."""
        if self.origins.pop(origin, None):
            self.is_kept = False

    def seconds_to_wait(self, origin: str) -> float:
        """The seconds until the origin may be asked again; 0 if at once."""
        outage = self.origins.get(origin)
        return max(0.0, (outage.retry_at - datetime.now(UTC)).total_seconds()) if outage else 0.0

    @property
    def lacks_robots(self) -> bool:
        """Whether the host waits until its robots.txt can be fetched, although an older one may be
        stored.
        """
        return bool(self.outage and self.outage.status == FetchStatus.ROBOTS_UNAVAILABLE)

    @property
    def _patience(self) -> float:
        seconds = self.clock.politeness.host_patience_seconds
        if self.is_foreign:
            return min(seconds, CHECK_PATIENCE_SECONDS)
        # no fetched page of the doubtful host is known, as if it had never answered
        has_pages = self.row < self.doubtful_row or bool(self.known_page)
        return host_patience_seconds(seconds, has_answered=self.has_answered and has_pages)

    def _note_outage(
        self, fetched: Fetched, pause_seconds: float, *, may_give_up: bool = True
    ) -> None:
        now, error = datetime.now(UTC), fetched.error or status_sentence(fetched.status)
        self.outage = outage_after(
            self.outage,
            fetched.status,
            error,
            now=now,
            pause_seconds=pause_seconds,
            patience_seconds=self._patience,
            row=self.row,
            known_page=self.known_page,
        )
        self.is_kept = False
        if self.outage.gives_up_at <= now and may_give_up:
            self._give_up(fetched.status)

    def _give_up(self, status: int) -> None:
        assert self.outage is not None
        self.given_up = Fetched(status, error=self.outage.failure_reason)
        self.clock.is_over = True


def _rest_reason(status: int, rest: float, asked: float | None) -> str:
    """The reason why all crawls leave the host alone. The URL is left out, since only one crawl may
    know it.
    """
    if rest <= TOLD_SECONDS:
        return ""
    wish = f", which asks for {asked:,.0f} s" if asked else ""
    return f"Its latest answer was: {status_sentence(status).rstrip('.')}{wish}."


def _pause_seconds(before: Outage | None) -> float:
    """Seconds of the pause after another failed try."""
    tries = before.tries + 1 if before else 1
    return pause_seconds_after(tries, random.random())  # noqa: S311  # no secret

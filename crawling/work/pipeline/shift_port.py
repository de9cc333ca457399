"""The port of fetch threads to the shift around them: their questions, and the results that they
hand over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from crawling.frontier import CapturedExchange, ServerAnswer
from dnscache.resolver import Resolution, resolve

T = TypeVar("T")


class ShiftPort(Protocol):
    """Any fetch thread calls these at any time."""

    def ask(self, question: Callable[[], T]) -> T | None:
        """The database's answer; None: it is not there, or has none."""

    def original_url(self, fingerprint: int, digest: bytes) -> int | None:
        """The id of the run's URL that had this content first; None: no page of it is known."""

    def resolve(self, host: str) -> Resolution:
        """The addresses of a host that is not the visit's own."""

    def lease_is_lost(self) -> bool:
        """Whether the shift's time is over."""

    def archive(self, captured: CapturedExchange, answer: ServerAnswer) -> None:
        """Hand an exchange to the archive, which closes it."""

    def keep_robots(self, origin: str, status: int, body: bytes) -> None:
        """Hand on a robots.txt, to be stored for all crawls."""

    def keep_own_robots(self, origin: str, status: int, body: bytes) -> None:
        """Hand on one that was asked for in a way of this crawl's own, to be stored for the run
        alone.
        """

    def keep_session(self, host_id: int, session: dict[str, Any]) -> None:
        """Hand on a host's changed session."""

    def login_failed(self, sentence: str) -> None:
        """Say why the crawl could not log in."""


class NoShift:
    """Around a test fetch: questions are answered at once, and nothing is kept."""

    def ask(self, question: Callable[[], T]) -> T | None:
        return question()

    def original_url(self, fingerprint: int, digest: bytes) -> int | None:
        return None

    def resolve(self, host: str) -> Resolution:
        return resolve(host)

    def lease_is_lost(self) -> bool:
        return False

    def archive(self, captured: CapturedExchange, answer: ServerAnswer) -> None:
        captured.exchange.close()

    def keep_robots(self, origin: str, status: int, body: bytes) -> None:
        pass

    def keep_own_robots(self, origin: str, status: int, body: bytes) -> None:
        pass

    def keep_session(self, host_id: int, session: dict[str, Any]) -> None:
        pass

    def login_failed(self, sentence: str) -> None:
        pass

"""The requests of fetch threads to their shift, and their results."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, TypeVar

from django.db import InterfaceError, OperationalError, connections

from crawling.archive.earlier_answers import StoredDocument, answer_in_run
from crawling.fetching.shift.archive_stage import ArchiveStage
from crawling.fetching.shift.lease import LeaseThread
from crawling.frontier import CapturedExchange, ServerAnswer
from crawling.frontier.record.page_rows import original_url
from dnscache.resolution import Resolution, unanswered_resolution
from dnscache.resolver import resolve

logger = logging.getLogger(__name__)
T = TypeVar("T")


class QueryThread:
    """Queries the database in one thread with one connection: if each fetch thread had its own,
    they would take all connections of PostgreSQL.

    at_work: the number of queries under way, 1 or 0.
    """

    def __init__(self) -> None:
        self.at_work = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="queries")

    def ask(self, question: Callable[[], T]) -> T | None:
        """The answer. None if the database does not answer or the shift is over, so that the caller
        tries again later.
        """
        try:
            return self._thread.submit(self._result_of, question).result()
        except RuntimeError:  # closed, for a fetch thread that did not end in time
            return None

    def close(self) -> None:
        self._thread.submit(connections.close_all)
        # a name server may take longer than the shift lasts
        self._thread.shutdown(wait=not self.at_work)

    def _result_of(self, question: Callable[[], T]) -> T | None:
        self.at_work = 1
        try:
            return question()
        except (OperationalError, InterfaceError) as error:
            logger.warning("a fetch thread could not ask PostgreSQL", extra={"error": str(error)})
            connections.close_all()
            return None
        finally:
            self.at_work = 0


class FetchThreadPort:
    """The port of a real shift. Fetch threads ask and hand over results; the shift's own thread
    takes and stores the results.
    """

    def __init__(self, run_id: int, lease: LeaseThread, archive: ArchiveStage) -> None:
        self._run_id, self._lease, self._archive = run_id, lease, archive
        self._queries, self._look_ups = QueryThread(), QueryThread()
        self._robots: SimpleQueue[tuple[str, int, bytes]] = SimpleQueue()
        self._own_robots: SimpleQueue[tuple[str, int, bytes]] = SimpleQueue()
        self._sessions: dict[int, dict[str, Any]] = {}
        #: the reason why the crawl could not log in; empty if it could
        self.login_trouble = ""

    def ask(self, question: Callable[[], T]) -> T | None:
        return self._queries.ask(question)

    def original_url(self, fingerprint: int, digest: bytes) -> int | None:
        return self.ask(lambda: original_url(self._run_id, fingerprint, digest))

    def stored_document(self, url: str, most: int) -> StoredDocument | None:
        return self.ask(lambda: answer_in_run(self._run_id, url, most))

    def resolve(self, host: str) -> Resolution:
        """Resolve one name at a time, in one of the shift's DNS slots."""
        return self._look_ups.ask(lambda: resolve(host)) or unanswered_resolution(host, 0.0)

    def lease_is_lost(self) -> bool:
        return self._lease.is_lost

    def archive(self, captured: CapturedExchange, answer: ServerAnswer) -> None:
        self._archive.put(captured, answer)

    def keep_robots(self, origin: str, status: int, body: bytes) -> None:
        self._robots.put((origin, status, body))

    def keep_own_robots(self, origin: str, status: int, body: bytes) -> None:
        self._own_robots.put((origin, status, body))

    def keep_session(self, host_id: int, session: dict[str, Any]) -> None:
        self._sessions[host_id] = session

    def login_failed(self, sentence: str) -> None:
        self.login_trouble = sentence

    @property
    def names_at_work(self) -> int:
        return self._look_ups.at_work

    def taken_robots(self) -> list[tuple[str, int, bytes]]:
        """The robots.txt files handed over since the last time."""
        return _drain(self._robots)

    def taken_own_robots(self) -> list[tuple[str, int, bytes]]:
        """The robots.txt files that belong to this run alone."""
        return _drain(self._own_robots)

    def taken_sessions(self) -> dict[int, dict[str, Any]]:
        """The cookies handed over since the last time, by host."""
        return {host: self._sessions.pop(host) for host in list(self._sessions)}

    def close(self) -> None:
        self._queries.close()
        self._look_ups.close()


def _drain(queue: SimpleQueue[T]) -> list[T]:
    taken = []
    while not queue.empty():
        taken.append(queue.get())
    return taken

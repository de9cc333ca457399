"""Puts the toes' questions to the database."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connections

logger = logging.getLogger(__name__)
T = TypeVar("T")


class Clerk:
    """Asks in one thread, with one connection: with one each, the toes would take all that PostgreSQL has.

    at_work: how many questions are under way, which is one or none.
    """

    def __init__(self) -> None:
        self.at_work = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="clerk")

    def ask(self, question: Callable[[], T]) -> T | None:
        """The answer; None where the database is not there, or the shift is over: whoever asked comes back later."""
        try:
            return self._thread.submit(self._asked, question).result()
        except RuntimeError:  # closed: a toe that did not end in time
            return None

    def close(self) -> None:
        self._thread.submit(connections.close_all)
        self._thread.shutdown(wait=not self.at_work)  # a name server may take longer than the shift has

    def _asked(self, question: Callable[[], T]) -> T | None:
        self.at_work = 1
        try:
            return question()
        except (OperationalError, InterfaceError) as error:
            logger.warning("a toe could not ask PostgreSQL", extra={"error": str(error)})
            connections.close_all()
            return None
        finally:
            self.at_work = 0

"""The time of the web server's answers."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from benchmarks.report import Table
from benchmarks.timer import MIB, Taken, chosen_figures, timed
from crawling.jobs.running import run_job
from crawling.models import Inquiry
from crawlsite.middleware.call_stack import call_with_large_frame

#: the limits for a page: processor time here and in the database, and time by the clock while
#: crawls are working
MOST_MS, MOST_MS_BESIDE = 150, 300
TIMES = 3
#: the addresses requested before any is measured: a working server has already imported, compiled
#: and prepared everything that its pages need, so otherwise the first measured page would pay for
#: all
WARM = 20


@dataclass(frozen=True)
class Answered:
    """An address and the time of its answer."""

    address: str
    status: int
    bytes: int
    taken: Taken


def administrator() -> Client:
    """The client of an administrator who has logged in."""
    user, _ = User.objects.get_or_create(username="benchmark", is_superuser=True, is_staff=True)
    client = Client()
    client.force_login(user)
    return client


def show(addresses: Iterable[str], *, is_beside: bool = False) -> None:
    """Print the fastest of three answers for each address, since a busy machine only adds time; the
    slowest address comes first. While crawls are working, the median by the clock counts.

    `here` and `db` are the processor times of this process and of the database's, which other
    programs do not lengthen.
    """
    found = list(dict.fromkeys(addresses))
    client, choose = administrator(), statistics.median_low if is_beside else min
    for address in found[:WARM]:
        _answer(client, address, choose)
    rows: list[Answered] = []
    for address in found:
        rows += _answer(client, address, choose)
        if _jobs_answered():
            rows += _answer(client, address, choose, "(compared)")
    _print(sorted(rows, key=lambda row: -row.taken.worked))
    most, unit = (MOST_MS_BESIDE, " by the clock") if is_beside else (MOST_MS, "")
    slow = [
        row.address
        for row in rows
        if 1000 * (row.taken.clock if is_beside else row.taken.worked) > most
    ]
    print(f"{len(rows)} addresses; more than {most} ms{unit}: {slow or 'none'}")


def show_files(addresses: Iterable[str]) -> None:
    """Print the time of each of these downloads as a whole, read once."""
    client = administrator()
    _print([_timed_answer(client, address, whole=True) for address in addresses])


def _print(rows: Sequence[Answered]) -> None:
    table = Table("ms", "here", "db", "MB more", "queries", "KB", "page")
    for row in rows:
        taken = row.taken
        times = (round(1000 * each) for each in (taken.clock, taken.here, taken.there))
        sizes = round(taken.memory / MIB), taken.statements, row.bytes // 1024
        table.row(*times, *sizes, f"{row.status} {row.address}")


def _answer(
    client: Client, address: str, choose: Callable[[list[float]], float], note: str = ""
) -> list[Answered]:
    """The answers to an address; none if it is no page, but only accepts POST."""
    asked = [_timed_answer(client, address)]
    if asked[0].status == 405:
        return []
    asked += [_timed_answer(client, address) for _ in range(TIMES - 1)]
    last, taken = asked[-1], chosen_figures(choose, [one.taken for one in asked])
    taken.memory = max(one.taken.memory for one in asked)
    return [Answered(f"{address} {note}".strip(), last.status, last.bytes, taken)]


def _jobs_answered() -> int:
    """Do the background jobs that pages have requested since the last call. Return their number."""
    waiting = Inquiry.objects.filter(began_at=None, ended_at=None)
    keys = list(waiting.values_list("pk", flat=True))
    for inquiry in keys:
        run_job(inquiry)
    return len(keys)


def _timed_answer(client: Client, address: str, *, whole: bool = False) -> Answered:
    """The time of an answer. For a long answer that is made while it is sent, the time to its first
    piece, or of the whole.
    """
    with timed() as taken:
        answer = call_with_large_frame(client.get)(address)
        size = _size_of(answer, whole)
    answer.close()
    if answer.status_code >= 500:
        raise RuntimeError(f"{address} is answered {answer.status_code}.")
    return Answered(address, answer.status_code, size, taken)


def _size_of(answer: Any, whole: bool) -> int:
    if not answer.streaming:
        return len(answer.content)
    pieces = iter(answer.streaming_content)
    return sum(map(len, pieces)) if whole else len(next(pieces, b""))

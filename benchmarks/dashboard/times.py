"""How long pages take where there is much, in a database of its own on the server that DATABASE_URL
names.

python -m benchmarks.dashboard.times [--crawls 300000 --live 100 --pages 1000000 --hosts 100000
--rows 100000 --links 1000000] [--keep] [--beside-crawls] [--only TEXT…]

With --keep the scene stays in a database, and the next time a copy of it is measured. With
--beside-crawls all is measured while two workers crawl at full rate, with --only what has one of
the texts in its address.
"""

from __future__ import annotations

import argparse
import statistics
import time
import timeit
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import django
from django.conf import settings

import crawlsite.settings
from benchmarks.dashboard.crawls_beside import crawls_beside, fetched
from benchmarks.dashboard.links import forget_links
from benchmarks.dashboard.page_urls import page_urls
from benchmarks.scene.database_snapshot import copy_of_scene
from benchmarks.scene.installation import Filled, Size, fill
from crawlsite.middleware.call_stack import with_room

#: what no page may take, of a processor here and in the database, and by the clock beside crawls
MOST_MS, MOST_MS_BESIDE = 150, 300
TIMES = 3
#: places asked before any is measured: a server at work has imported, compiled and prepared what
#: its pages need, so the first measured would pay for all
WARM = 20
#: additions whose time says how quick the machine is: figures of two machines compare by it
LOOPS = 10_000_000


@dataclass(frozen=True)
class Told:
    """An answer and what it cost: milliseconds by the clock, of a processor here and in the
    database, memory beyond what this process had, queries and bytes.
    """

    status: int
    wall: float
    here: float
    there: float
    memory: int
    queries: int
    size: int

    @property
    def worked(self) -> float:
        return self.here + self.there


def main() -> None:
    """Fill, then ask for each page."""
    from django.core.management import call_command

    import_module("crawlsite.wsgi")  # views, templates, connections and memory as the server has
    reader = argparse.ArgumentParser(description=__doc__)
    for name, usual in (
        ("crawls", 300_000),
        ("live", 100),
        ("pages", 1_000_000),
        ("hosts", 100_000),
        ("rows", 100_000),
        ("links", 1_000_000),
    ):
        reader.add_argument(f"--{name}", type=int, default=usual)
    for name in ("keep", "beside-crawls"):
        reader.add_argument(f"--{name}", action="store_true")
    reader.add_argument("--only", nargs="+", default=[""])
    asked = vars(reader.parse_args())
    keeps, is_beside, only = (asked.pop(name) for name in ("keep", "beside_crawls", "only"))
    call_command("collectstatic", interactive=False, verbosity=0)
    print(f"{LOOPS:,} additions in Python: {1000 * additions_seconds():.0f} ms on this machine")
    with (copy_of_scene if keeps else scene)(Size(**asked)) as filled:
        wanted = (place for _, place in page_urls(filled) if any(text in place for text in only))
        (show_beside if is_beside else show)(list(dict.fromkeys(wanted)))


def additions_seconds() -> float:
    """Of a processor, for LOOPS additions; the least of three."""
    return min(
        timeit.repeat("total += 1", "total = 0", number=LOOPS, timer=time.process_time, repeat=3)
    )


@contextmanager
def scene(size: Size) -> Iterator[Filled]:
    from django.core.management import call_command

    from benchmarks.scene.database import empty_database

    with empty_database():
        call_command("set_up")
        try:
            yield fill(size)
        finally:
            forget_links()


def show_beside(found: Sequence[str]) -> None:
    """The same beside crawls, with their pages a second."""
    with crawls_beside() as runs:
        before, began = fetched(runs), time.monotonic()
        show(found, most_by_clock=MOST_MS_BESIDE)
        rate = (fetched(runs) - before) / (time.monotonic() - began)
    print(f"beside two crawls that fetched {rate:.0f} pages/s")


def show(found: Sequence[str], *, most_by_clock: float | None = None) -> None:
    """Print the quickest of three answers of each place, since a busy machine only ever adds, the
    slowest first; if the clock counts, the median.

    `here` and `db` are the processor's time of this process and of the database's, which others at
    work do not lengthen.
    """
    from django.contrib.auth.models import User
    from django.db import connection
    from django.test import Client

    user, _ = User.objects.get_or_create(username="benchmark", is_superuser=True, is_staff=True)
    client = Client()
    client.force_login(user)
    middle = statistics.median_low if most_by_clock else min
    for place in found[:WARM]:
        _answer(client, place, connection, middle)
    timed = []
    for place in found:
        timed.append((place, _answer(client, place, connection, middle)))
        if _jobs_answered():
            timed.append((f"{place} (compared)", _answer(client, place, connection, middle)))
    rows = [(place, told) for place, told in timed if told is not None]
    _print_rows(sorted(rows, key=lambda row: -row[1].worked))
    if most_by_clock:
        slow = [place for place, told in rows if told.wall > most_by_clock]
        print(f"{len(rows)} places; more than {most_by_clock} ms by the clock: {slow or 'none'}")
    else:
        slow = [place for place, told in rows if told.worked > MOST_MS]
        print(f"{len(rows)} places; more than {MOST_MS} ms: {slow or 'none'}")


def show_files(found: Sequence[str]) -> None:
    """Print what each of these downloads costs as a whole, read once."""
    from django.contrib.auth.models import User
    from django.db import connection
    from django.test import Client

    client = Client()
    client.force_login(User.objects.get(username="benchmark"))
    _print_rows((place, _ask(client, place, connection, whole=True)) for place in found)


def _print_rows(rows: Iterable[tuple[str, Told]]) -> None:
    print(f"{'ms':>6} {'here':>6} {'db':>6} {'MB more':>8} {'queries':>8} {'KB':>7}  page")
    for place, told in rows:
        print(
            f"{told.wall:6.0f} {told.here:6.0f} {told.there:6.0f} {told.memory / 2**20:8.0f} "
            f"{told.queries:8} {told.size // 1024:7}  {told.status} {place}",
            flush=True,
        )


def _answer(
    client: Any, place: str, connection: Any, middle: Callable[[list[float]], float]
) -> Told | None:
    """None: it is no place to look at, but one to post to."""
    told = []
    for _ in range(TIMES):
        one = _ask(client, place, connection)
        if one.status == 405:
            return None
        told.append(one)
    wall, here, there = (
        middle([getattr(one, name) for one in told]) for name in ("wall", "here", "there")
    )
    memory = max(one.memory for one in told)
    return replace(told[-1], wall=wall, here=here, there=there, memory=memory)


def _jobs_answered() -> int:
    """Answer what pages have asked background jobs since the last call, and count it."""
    from crawling.jobs.running import run_job
    from crawling.models import Inquiry

    waiting = list(
        Inquiry.objects.filter(began_at=None, ended_at=None).values_list("pk", flat=True)
    )
    for inquiry in waiting:
        run_job(inquiry)
    return len(waiting)


def _ask(client: Any, address: str, connection: Any, *, whole: bool = False) -> Told:
    """Of a long answer that is made while it is sent, up to its first piece, or the whole."""
    queries: list[str] = []
    before = resident_memory()
    forget_peak()
    with connection.execute_wrapper(partial(_note, queries)):
        began, used, worked = time.perf_counter(), time.process_time(), _server_seconds(connection)
        answer = with_room(client.get)(address)
        size = _size_of(answer, whole)
        times = (
            time.perf_counter() - began,
            time.process_time() - used,
            _server_seconds(connection) - worked,
        )
        answer.close()
    if answer.status_code >= 500:
        raise RuntimeError(f"{address} is answered {answer.status_code}.")
    wall, here, there = (1000 * seconds for seconds in times)
    memory = max(0, peak_memory() - before)
    return Told(answer.status_code, wall, here, there, memory, len(queries), size)


def _size_of(answer: Any, whole: bool) -> int:
    if not answer.streaming:
        return len(answer.content)
    pieces = iter(answer.streaming_content)
    return sum(map(len, pieces)) if whole else len(next(pieces, b""))


def resident_memory() -> int:
    """Of this process, in bytes."""
    return _memory("VmRSS")


def peak_memory() -> int:
    """The most that it had since `forget_peak`."""
    return _memory("VmHWM")


def _memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def forget_peak() -> None:
    """Let `peak_memory` begin with what the process has now. Linux alone has this."""
    Path("/proc/self/clear_refs").write_text("5")


def _note(queries: list[str], execute: Callable[..., Any], query: str, *rest: Any) -> Any:
    queries.append(query)
    return execute(query, *rest)


def _server_seconds(connection: Any) -> float:
    """Time of a processor that the connection's server process has had, if it is on this machine; 0
    elsewhere.
    """
    connection.ensure_connection()
    try:
        return (
            int(
                Path(f"/proc/{connection.connection.info.backend_pid}/schedstat")
                .read_text()
                .split()[0]
            )
            / 1e9
        )
    except OSError:
        return 0.0


if __name__ == "__main__":
    own = {
        name: getattr(crawlsite.settings, name)
        for name in dir(crawlsite.settings)
        if name.isupper()
    }
    # which need not be collected
    files = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    own["STORAGES"] = {**own["STORAGES"], "staticfiles": files}
    own["ALLOWED_HOSTS"] = ["testserver"]
    # Further processes of the server would not be counted.
    alone = {"options": "-c max_parallel_workers_per_gather=0"}
    own["DATABASES"]["default"].setdefault("OPTIONS", {}).update(alone)
    settings.configure(**own)
    django.setup()
    main()

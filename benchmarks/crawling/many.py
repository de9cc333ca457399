"""Many small crawls at once: `python -m benchmarks.crawling.many [--crawls 1000] [--workers 2]`.

Starts the product's own processes and a web server with a loopback address for each crawl, creates
and starts the crawls by JSON, and prints how long a call takes and how many crawls end a second.
Wants a PostgreSQL whose tables are made and a Redis of its own; its crawls stay.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import psutil
from django.conf import settings
from django.db.models import Max, Min

from benchmarks.scene.database import set_up_django
from benchmarks.waiting import await_change
from crawlsite.env import BASE_DIR, for_child, read
from crawlsite.supervisor.procfile import read_procfile, variables

PAGES = {"/": '<a href="/a">a</a> <a href="/b">b</a>', "/a": "<p>one</p>", "/b": "<p>two</p>"}
REPORT_SECONDS = 10.0
SLOW_DUTY = re.compile(r"a duty of the scheduler was slow.*?duty=(\w+).*?milliseconds=(\d+)")


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--crawls", type=int, default=1000)
    reader.add_argument("--workers", type=int, default=2)
    reader.add_argument("--seconds", type=float, default=600.0, help="how long the crawls may take")
    asked = reader.parse_args()
    token = make_ready()
    addresses = [f"127.1.{n // 250}.{n % 250 + 1}" for n in range(asked.crawls)]
    log = Path(settings.STATE_DIR) / "many.log"
    log.write_text("")
    with ExitStack() as stack:
        port = stack.enter_context(served(addresses))
        web, programs = stack.enter_context(product(asked.workers, log))
        before, began = latest_run(), time.monotonic()
        seeds = [f"http://{address}:{port}/" for address in addresses]
        order_crawls(web, token, seeds)
        spent, early = spending(programs), count_ended(before)
        late = follow(asked.crawls, before, began, asked.seconds)
        report_spending(spent, spending(programs), late - early)
    report_duties(log.read_text())


def make_ready() -> str:
    """Allow loopback, make a pool and an administrator; returns a token of the latter's."""
    set_up_django()
    from django.contrib.auth.models import User

    from benchmarks.scene import crawls
    from crawlsite.tokens import make_token

    crawls.make_ready()
    rights = {"is_superuser": True, "is_staff": True}
    user, _ = User.objects.get_or_create(username="many", defaults=rights)
    user.api_tokens.all().delete()
    return make_token(user, "many")


@contextmanager
def served(addresses: Sequence[str]) -> Iterator[int]:
    """Serve PAGES on all the addresses from a process of its own; yields the port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    spawning = multiprocessing.get_context("spawn")
    server = spawning.Process(target=serve, args=(list(addresses), port), daemon=True)
    server.start()
    await_port(addresses[-1], port)
    try:
        yield port
    finally:
        server.terminate()
        server.join()


def serve(addresses: Sequence[str], port: int) -> None:
    asyncio.run(_serve(addresses, port))


async def _serve(addresses: Sequence[str], port: int) -> None:
    server = await asyncio.start_server(_answer, list(addresses), port)
    await server.serve_forever()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            page = PAGES.get(head.split(b" ", 2)[1].decode())
            body = (page or "not here").encode()
            status = "200 OK" if page else "404 Not Found"
            fields = f"Content-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}"
            writer.write(f"HTTP/1.1 {status}\r\n{fields}\r\n\r\n".encode() + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        return
    finally:
        writer.close()


@contextmanager
def product(workers: int, log: Path) -> Iterator[tuple[int, dict[str, int]]]:
    """Run what the Procfile names but for the demo web; yields the dashboard's port, and pids."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    env = for_child(
        {
            "PORT": str(port),
            "WORKERS": str(workers),
            "DEMO": "0",
            "API_REQUESTS_A_MINUTE": "1000000",
        }
    )
    environment = replace(read(), port=port, workers=workers, demo=False)
    values = variables(environment, platform=sys.platform)
    procfile = read_procfile(BASE_DIR / "Procfile", environment, values)
    here: dict[str, Any] = {"env": env, "cwd": BASE_DIR}
    for words in procfile.release:
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, **here)  # noqa: S603  # ours
    with log.open("ab") as printed:
        here |= {"stdout": printed, "stderr": printed}
        commands = procfile.commands.items()
        started = {name: subprocess.Popen(words, **here) for name, words in commands}  # noqa: S603
    try:
        await_port("127.0.0.1", port)
        yield port, {name: process.pid for name, process in started.items()}
    finally:
        for process in started.values():
            process.terminate()
        for process in started.values():
            process.wait(30)


def await_port(address: str, port: int) -> None:
    def answers() -> bool:
        try:
            socket.create_connection((address, port), 1).close()
        except OSError:
            return False
        return True

    await_change(answers, f"Nothing answers at {address}:{port}.", seconds=60, every=0.1)


def order_crawls(web: int, token: str, seeds: Sequence[str]) -> None:
    """Create a crawl for each seed, then start them all."""
    connection = HTTPConnection("127.0.0.1", web, timeout=120)
    creating: list[float] = []
    starting: list[float] = []
    series = f"{time.time():.0f}"  # no crawl has the name of an earlier run's
    crawls = [
        call(
            connection,
            token,
            "/api/v1/crawls",
            {"name": f"many {series} {number}", "seeds": [seed], "delay_seconds": 0},
            creating,
        )
        for number, seed in enumerate(seeds)
    ]
    report_calls("create", creating)
    for crawl in crawls:
        call(connection, token, f"/api/v1/crawls/{crawl['id']}/start", {}, starting)
    report_calls("start", starting)


def call(
    connection: HTTPConnection,
    token: str,
    path: str,
    body: object,
    seconds: list[float],
) -> Any:
    began = time.monotonic()
    fields = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", path, json.dumps(body), fields)
    answer = connection.getresponse()
    text = answer.read()
    seconds.append(time.monotonic() - began)
    if answer.status >= 300:
        raise SystemExit(f"{path}: {answer.status} {text[:500].decode()}")
    return json.loads(text)


def report_calls(name: str, seconds: list[float]) -> None:
    middle, high = 1000 * median(seconds), 1000 * quantiles(seconds, n=20)[-1]
    print(f"  {name}: median {middle:.0f} ms, 95 % under {high:.0f} ms")


def latest_run() -> int:
    from crawling.models import Run

    return int(Run.objects.aggregate(latest=Max("pk"))["latest"] or 0)


def spending(programs: dict[str, int]) -> dict[str, float]:
    """Seconds of the processor so far, by kind of program; with those of children that ended."""
    from benchmarks.crawling.shift_costs import server_seconds

    spent = {"PostgreSQL": server_seconds()}
    for name, pid in programs.items():
        program, seconds = psutil.Process(pid), 0.0
        for one in (program, *program.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):  # it ended just now, and its parent counts it
                t = one.cpu_times()
                seconds += t.user + t.system + t.children_user + t.children_system
        kind = name.partition(".")[0]
        spent[kind] = spent.get(kind, 0.0) + seconds
    return spent


def report_spending(before: dict[str, float], after: dict[str, float], crawls: int) -> None:
    """What each crawl cost, since a machine that others use too says little by its clock."""
    each = {kind: 1000 * (after[kind] - before[kind]) / crawls for kind in after}
    print(f"{sum(each.values()):8.0f} ms of the processor a crawl, of which")
    for kind, milliseconds in sorted(each.items(), key=lambda item: -item[1]):
        print(f"{milliseconds:8.0f} ms {kind}")


def count_ended(before: int) -> int:
    """How many runs after that one have ended."""
    from crawling.models import Run
    from crawling.models.jobs import ENDED_STATES

    return Run.objects.filter(pk__gt=before, state__in=ENDED_STATES).count()


def follow(crawls: int, before: int, began: float, seconds: float) -> int:
    """Print how many crawls have ended, until all have, and return how many.

    before: the latest run of earlier times.
    """
    from crawling.models import Page, Run

    count, then = 0, began
    while count < crawls and time.monotonic() - began < seconds:
        # The last 50 crawls end within seconds: a look that comes late would count idle time and
        # lower the last rate.
        pause = REPORT_SECONDS if count < crawls - 50 else 0.5
        # a curve over time has its points at times; each look costs the database that is measured
        time.sleep(pause)
        ended, now = count_ended(before), time.monotonic()
        rate = (ended - count) / (now - then)
        print(f"{now - began:6.1f} s: {ended:5} ended, {rate:5.1f} a second", flush=True)
        count, then = ended, now
    runs = Run.objects.filter(pk__gt=before)
    times = runs.aggregate(first=Min("finished_at"), last=Max("finished_at"))
    whole = (times["last"] - times["first"]).total_seconds()
    pages = Page.objects.filter(run__gt=before, status=200).count()
    rate = (count - 1) / whole
    print(f"{count} of {crawls} crawls ended, {pages} pages; {rate:.1f} crawls a second")
    return count


def report_duties(log: str) -> None:
    """What the scheduler's log says of duties that took longer than they may."""
    slow: dict[str, list[int]] = {}
    for name, milliseconds in SLOW_DUTY.findall(log):
        slow.setdefault(name, []).append(int(milliseconds))
    for name, times in sorted(slow.items()):
        print(f"  slow duty {name}: {len(times)} times, at most {max(times)} ms")


if __name__ == "__main__":
    main()

"""Many small crawls at once: `python -m benchmarks.crawling.many [--crawls 1000] [--workers 2]
[--seconds 600]`.

Starts the product's own processes and a web server with a loopback address for each crawl, creates
and starts the crawls by JSON, and prints how long a call takes and how many crawls end a second.
Needs a PostgreSQL with migrated tables and a Redis of its own; its crawls are kept.
"""

from __future__ import annotations

import json
import re
import time
from collections import defaultdict
from collections.abc import Sequence
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Max, Min

from benchmarks.report import Table, in_words, options
from benchmarks.scene.crawls import make_ready
from benchmarks.scene.product import PORT, Product, environment_at_hand, running_product
from benchmarks.scene.sites import NOT_HERE, Asked, reply, served
from benchmarks.timer import server_seconds, timed
from crawling.models import Page, Run
from crawling.models.jobs import ENDED_STATES
from crawlsite.tokens import make_token

PAGES = {"/": '<a href="/a">a</a> <a href="/b">b</a>', "/a": "<p>one</p>", "/b": "<p>two</p>"}
REPORT_SECONDS = 10.0
SLOW_DUTY = re.compile(r"a duty of the scheduler was slow.*?duty=(\w+).*?milliseconds=(\d+)")


def main() -> None:
    asked = options(__doc__, crawls=1000, workers=2, seconds=600.0)
    make_ready()
    token = new_token()
    addresses = [f"127.1.{n // 250}.{n % 250 + 1}" for n in range(asked.crawls)]
    environment = environment_at_hand(
        WORKERS=str(asked.workers), API_REQUESTS_A_MINUTE="1000000", LOG_LEVEL="INFO"
    )
    earlier = scheduler_log()
    before = Run.objects.aggregate(latest=Max("pk"))["latest"] or 0
    with served(answer, addresses) as port, running_product(environment) as product:
        began = time.monotonic()
        order_crawls(token, [f"http://{address}:{port}/" for address in addresses])
        spent, early = spending(product), ended_since(before).count()
        late = follow(asked.crawls, before, began, asked.seconds)
        report_spending(spent, spending(product), late - early)
    report_duties(scheduler_log().removeprefix(earlier))


async def answer(asked: Asked) -> bytes:
    page = PAGES.get(asked.target)
    return reply(page) if page else NOT_HERE


def new_token() -> str:
    """A token of an administrator."""
    rights = {"is_superuser": True, "is_staff": True}
    user, _ = User.objects.get_or_create(username="many", defaults=rights)
    user.api_tokens.all().delete()
    return make_token(user, "many")


def order_crawls(token: str, seeds: Sequence[str]) -> None:
    """Create a crawl for each seed, then start them all."""
    connection = HTTPConnection("127.0.0.1", PORT, timeout=120)
    seconds: dict[str, list[float]] = defaultdict(list)

    def call(name: str, path: str, body: object) -> Any:
        fields = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        with timed() as taken:
            connection.request("POST", path, json.dumps(body), fields)
            answer = connection.getresponse()
            text = answer.read()
        seconds[name].append(taken.clock)
        if answer.status >= 300:
            raise SystemExit(f"{path}: {answer.status} {text[:500].decode()}")
        return json.loads(text)

    series = f"{time.time():.0f}"  # so that no crawl has the name of one from an earlier run
    crawls = [
        call(
            "create",
            "/api/v1/crawls",
            {"name": f"many {series} {number}", "seeds": [seed], "delay_seconds": 0},
        )
        for number, seed in enumerate(seeds)
    ]
    for crawl in crawls:
        call("start", f"/api/v1/crawls/{crawl['id']}/start", {})
    for name, some in seconds.items():
        print(f"  {name}: {in_words(some)}")


def spending(product: Product) -> dict[str, float]:
    """Processor seconds so far, by kind of program."""
    return {**product.totals(), "PostgreSQL": server_seconds()}


def report_spending(before: dict[str, float], after: dict[str, float], crawls: int) -> None:
    """Print the cost of each crawl in processor time, since the clock of a shared machine says
    little.
    """
    each = {kind: 1000 * (after[kind] - before.get(kind, 0.0)) / crawls for kind in after}
    Table("CPU ms", "a crawl").rows({"all": sum(each.values()), **each})


def ended_since(before: int) -> Any:
    """Runs later than that one which have ended."""
    return Run.objects.filter(pk__gt=before, state__in=ENDED_STATES)


def follow(crawls: int, before: int, began: float, seconds: float) -> int:
    """Print the number of ended crawls repeatedly, until all have ended. Return their number.

    before: the latest run of earlier times.
    """
    count, then = 0, began
    while count < crawls and time.monotonic() - began < seconds:
        # the last 50 crawls end within seconds, and a late look would count idle time and lower the
        # last rate
        pause = REPORT_SECONDS if count < crawls - 50 else 0.5
        # a curve over time needs points at set times, and each look costs the measured database
        # some time
        time.sleep(pause)
        ended, now = ended_since(before).count(), time.monotonic()
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


def scheduler_log() -> str:
    log = Path(settings.STATE_DIR, "logs/scheduler.log")
    return log.read_text(errors="replace") if log.exists() else ""


def report_duties(log: str) -> None:
    """Print the lines of the scheduler's log about duties that took too long."""
    slow: dict[str, list[int]] = defaultdict(list)
    for name, milliseconds in SLOW_DUTY.findall(log):
        slow[name].append(int(milliseconds))
    for name, times in sorted(slow.items()):
        print(f"  slow duty {name}: {len(times)} times, at most {max(times)} ms")


if __name__ == "__main__":
    main()

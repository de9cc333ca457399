"""Two crawls at full rate beside what is measured: a scheduler and two workers on the database at
hand, which fetch a synthetic web.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from subprocess import DEVNULL, Popen
from urllib.parse import urlsplit, urlunsplit

from benchmarks.dashboard.viewers import Size, served
from benchmarks.waiting import await_change
from crawlsite.env import for_child

WORKER = (
    "rqworker",
    "--skip-checks",
    "shifts",
    "--worker-class",
    "crawling.work.worker.rq_worker.ShiftWorker",
    "--serializer",
    "json",
)
PROGRAMS = (("scheduler", "--skip-checks"), WORKER, WORKER)
#: as `benchmarks.dashboard.viewers` has it
WEB = Size(operators=0, requests=0, seconds=0, hosts=8, width=1500)
#: a crawl finds its pages in its first seconds, and its rate rises until then
WARM_PAGES, PATIENCE_SECONDS = 1_500, 60


@contextmanager
def crawls_beside() -> Iterator[list[int]]:
    """The ids of their runs. In a pool of their own: that of the scene has nothing free."""
    from crawling.runs.crawls.creation import create_crawl
    from crawling.runs.start import start_run

    _leave_the_scene_alone()
    with ExitStack() as stack:
        runs = []
        for number, seeds in enumerate(stack.enter_context(served(WEB))):
            order = {
                "name": f"Beside {number} {time.time():.0f}",
                "seeds": seeds,
                "delay_seconds": 0,
                "pool": _pool(),
            }
            runs.append(start_run(create_crawl(order)).pk)
        for program in PROGRAMS:
            stack.enter_context(_running(*program))
        await_full_speed(runs)
        yield runs


def await_full_speed(runs: list[int]) -> None:
    await_change(
        lambda: all(fetched([run]) >= WARM_PAGES for run in runs),
        f"The crawls do not fetch {WARM_PAGES:,} pages.",
        seconds=PATIENCE_SECONDS,
        every=0.5,
    )


def fetched(runs: list[int]) -> int:
    """Pages of these runs."""
    from django.db.models import Sum

    from crawling.models import RunTotal

    total = RunTotal.objects.filter(run__in=runs).aggregate(pages=Sum("fetched"))["pages"]
    return total or 0


def _leave_the_scene_alone() -> None:
    """What the scene's crawls were granted is held by workers elsewhere, for a day."""
    from django.utils import timezone

    from allocation.models import Outbox, Process

    Process.objects.filter(lease_until__isnull=False).update(
        worker="elsewhere", lease_until=timezone.now() + timedelta(days=1)
    )
    Outbox.objects.filter(sent_at=None).update(sent_at=timezone.now())


def _pool() -> str:
    from allocation.models import Pool
    from allocation.services import create_pool_like
    from crawling.installation.pools import capacity_of, default_pool

    name = "Beside"
    if not Pool.objects.filter(name=name).exists():
        create_pool_like(name=name, capacity=capacity_of(default_pool()) | {"worker": 2})
    return name


@contextmanager
def _running(*program: str) -> Iterator[None]:
    """A program of the product on the database at hand; stopped at the end."""
    from django.conf import settings
    from django.db import connection

    url = urlsplit(settings.ENVIRONMENT.database_url)
    environment = for_child(
        {
            "DATABASE_URL": urlunsplit(url._replace(path=f"/{connection.settings_dict['NAME']}")),
            "LOG_LEVEL": "WARNING",
        }
    )
    command = [sys.executable, "manage.py", *program]
    # a program of our own, in a session of its own, as the supervisor starts it
    with Popen(  # noqa: S603
        command, env=environment, stdout=DEVNULL, start_new_session=True
    ) as process:
        try:
            yield
        finally:
            process.terminate()

"""How long pages take where there is much, in a database of its own on the server that DATABASE_URL names.

python -m benchmarks.dashboard.times [--crawls 300000 --live 100 --pages 1000000 --hosts 10000]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from django.test.utils import CaptureQueriesContext

import crawlsite.settings

#: %d: a crawl that waits, with a hundredth of the pages
PAGES = (
    "/", "/?hours=24", "/crawls/", "/crawls/?state=failed", "/crawls/?state=waiting", "/crawls/?q=crawl+29999", "/crawls/?sort=name",
    "/crawls/?sort=-started", "/crawls/%d/", "/crawls/%d/charts/", "/crawls/%d/pages/", "/crawls/%d/hosts/", "/hosts/", "/hosts/?q=site5",
    "/search/?q=123abc", "/search/?q=article", "/bank/1/",
)  # fmt: skip
TIMES = 5


def main() -> None:
    """Fill, then ask for each page."""
    from django.core.management import call_command
    from django.test.utils import setup_test_environment

    from benchmarks.dashboard.load import Size, fill
    from benchmarks.database import empty_database

    setup_test_environment()
    reader = argparse.ArgumentParser(description=__doc__)
    for name, usual in (("crawls", 300_000), ("live", 100), ("pages", 1_000_000), ("hosts", 10_000)):
        reader.add_argument(f"--{name}", type=int, default=usual)
    size = Size(**vars(reader.parse_args()))
    with empty_database():
        call_command("collectstatic", interactive=False, verbosity=0)
        call_command("set_up")
        show(fill(size)[0])


def show(crawl: int) -> None:
    """Print the quickest of five answers for each page, since a busy machine only ever adds.

    `here` and `db` are the processor's time of this process and of the database's, which others at work do not lengthen.
    """
    from django.contrib.auth.models import User
    from django.db import connection
    from django.test import Client

    user, _ = User.objects.get_or_create(username="benchmark", is_superuser=True)
    client = Client()
    client.force_login(user)
    print(f"{'page':32} {'ms':>6} {'here':>6} {'db':>6} {'queries':>8} {'KB':>6}")
    for page in PAGES:
        address = page % crawl if "%d" in page else page
        asked = [_ask(client, address, connection) for _ in range(TIMES)]
        wall, here, there = (1000 * min(times) for times in zip(*(one[:3] for one in asked), strict=True))
        print(f"{page:32} {wall:6.0f} {here:6.0f} {there:6.0f} {asked[-1][3]:8} {asked[-1][4] // 1024:6}", flush=True)


def _ask(client: Any, address: str, connection: Any) -> tuple[float, float, float, int, int]:
    """Seconds by the clock, of this process and of the database's, then queries and bytes."""
    with CaptureQueriesContext(connection) as queries:
        began, used, worked = time.perf_counter(), time.process_time(), _server_seconds(connection)
        answer = client.get(address)
        times = time.perf_counter() - began, time.process_time() - used, _server_seconds(connection) - worked
    return *times, len(queries), len(answer.content)


def _server_seconds(connection: Any) -> float:
    """Time of a processor that the connection's server process has had, if it is on this machine; 0 elsewhere."""
    connection.ensure_connection()
    try:
        return int(Path(f"/proc/{connection.connection.info.backend_pid}/schedstat").read_text().split()[0]) / 1e9
    except OSError:
        return 0.0


if __name__ == "__main__":
    own = {name: getattr(crawlsite.settings, name) for name in dir(crawlsite.settings) if name.isupper()}
    files = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}  # which need not be collected
    settings.configure(**{**own, "STORAGES": {**own["STORAGES"], "staticfiles": files}})
    django.setup()
    main()

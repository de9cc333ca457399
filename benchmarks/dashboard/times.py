"""How long pages take where there is much: fills the database that DATABASE_URL names, which should be one for this alone.

python -m benchmarks.dashboard.times [--crawls 300000 --live 100 --pages 1000000 --hosts 10000]
"""

from __future__ import annotations

import argparse
import time

import django
from django.conf import settings

import crawlsite.settings

#: %d: a crawl that waits, with a hundredth of the pages
PAGES = (
    "/", "/?hours=24", "/crawls/", "/crawls/?state=failed", "/crawls/?state=waiting", "/crawls/?q=crawl+29999", "/crawls/?sort=name",
    "/crawls/?sort=-started", "/crawls/%d/", "/crawls/%d/charts/", "/crawls/%d/pages/", "/crawls/%d/hosts/", "/hosts/", "/hosts/?q=site5",
    "/search/?q=123abc", "/search/?q=article", "/bank/1/",
)  # fmt: skip
TIMES = 5


def main() -> None:
    """Fill, then ask for each page; what is printed is the quickest of five, since a busy machine only ever adds."""
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.test import Client
    from django.test.utils import CaptureQueriesContext, setup_test_environment

    from benchmarks.dashboard.load import Size, fill

    setup_test_environment()
    reader = argparse.ArgumentParser(description=__doc__)
    for name, usual in (("crawls", 300_000), ("live", 100), ("pages", 1_000_000), ("hosts", 10_000)):
        reader.add_argument(f"--{name}", type=int, default=usual)
    call_command("set_up")
    crawl = fill(Size(**vars(reader.parse_args())))[0]
    user, _ = User.objects.get_or_create(username="benchmark", is_superuser=True)
    client = Client()
    client.force_login(user)
    from django.db import connection

    print(f"{'page':32} {'ms':>6} {'queries':>8} {'KB':>6}")
    for page in PAGES:
        address, taken = page % crawl if "%d" in page else page, []
        for _ in range(TIMES):
            with CaptureQueriesContext(connection) as queries:
                began = time.perf_counter()
                answer = client.get(address)
                taken.append(time.perf_counter() - began)
        print(f"{page:32} {1000 * min(taken):6.0f} {len(queries):8} {len(answer.content) // 1024:6}")


if __name__ == "__main__":
    settings.configure(**{name: getattr(crawlsite.settings, name) for name in dir(crawlsite.settings) if name.isupper()})
    django.setup()
    main()

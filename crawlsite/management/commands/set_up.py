"""`manage.py set_up`: the first set-up of a new installation. Repeating it changes nothing."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core import checks
from django.core.management.base import BaseCommand

from allocation.models import Pool
from allocation.services import add_resource_class, create_pool
from crawling.dashboard.management.command_errors import plain_errors
from crawling.installation.pools import default_classes, default_pool
from crawling.models import AllowedNetwork, CrawlJob
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.examples import DEMO_ADDRESS, demo_address
from crawling.runs.start import start_run
from crawlsite.administration.accounts import make_roles
from crawlsite.administration.passwords import give_password

DEMO_NOTE = "the demo web, and nothing else"
#: the share of the bandwidth that each demo crawl claims. Two cannot work at once, so that one
#: waits, and the page about resources shows why
DEMO_SHARE = 0.6


class Command(BaseCommand):
    help = (
        "Create the roles, the default pool, the first administrator and, if DEMO is on, two "
        "demo crawls; each only once."
    )

    def handle(self, **options: Any) -> None:
        with plain_errors():
            make_roles()
            _make_pool()
            self._create_first_administrator()
            if settings.DEMO:
                self._create_demo_crawl()
            else:
                self._close_the_demo()
        # reported, but not fatal: a pool is repaired by the dashboard, and a broken pool still
        # decides by its rows
        self.check(tags=[checks.Tags.database], databases=["default"], fail_level=checks.CRITICAL)

    def _create_first_administrator(self) -> None:
        if User.objects.filter(is_superuser=True).exists():
            return
        password = give_password(User.objects.create_superuser("admin"))
        self.stdout.write(
            f"Log in as admin with the password {password} (shown only now; `make password` "
            "makes a new one). The first log-in asks for a password of your own."
        )

    def _close_the_demo(self) -> None:
        """Forbid fetches from the demo's port, since another program may listen there now."""
        own = AllowedNetwork.objects.filter(network=DEMO_ADDRESS, note=DEMO_NOTE)
        if own.delete()[0]:
            self.stdout.write(f"{DEMO_ADDRESS} is no longer allowed to crawls, since DEMO is off.")

    def _create_demo_crawl(self) -> None:
        port = settings.DEMO_PORT
        _, is_first_time = AllowedNetwork.objects.get_or_create(
            network=DEMO_ADDRESS, port_from=port, port_to=port, defaults={"note": DEMO_NOTE}
        )
        if not is_first_time or CrawlJob.objects.exists():
            return
        pool = Pool.objects.earliest("pk")
        bandwidth = pool.capacity[pool.classes.get(key="bandwidth").ordinal]
        for section in ("library", "shop"):
            crawl = create_crawl(
                {
                    "name": f"Demo: the {section}",
                    "seeds": [f"{demo_address()}{section}/"],
                    "delay_seconds": 0.5,
                    "claim": {"bandwidth": int(bandwidth * DEMO_SHARE)},
                }
            )
            start_run(crawl)


def _make_pool() -> None:
    """Create the pool of crawls, or add classes that are newer than the pool."""
    classes = default_classes(settings.WORKERS)
    if not Pool.objects.exists():
        create_pool(name="default", classes=classes)
        return
    pool = default_pool()
    known = set(pool.classes.values_list("key", flat=True))
    for new in classes:
        if new.key not in known:
            add_resource_class(pool=pool.pk, new=new)

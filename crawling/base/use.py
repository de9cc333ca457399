"""How a use of crawls (`crawling/uses/`) adds to the product. Its folder is a Django app; the rooms
of the crawler find what it offers by the names of its modules, each of which may be missing.

`jobs`      `KINDS`: background jobs (`crawling.jobs.kinds`)
`duties`    `DUTIES`: of the scheduler (`crawling.scheduler.rounds`)
`events`    what it does when something happens to a crawl (`crawling.installation.events`)
`urls`      `urlpatterns`: pages among those of crawls; with an `app_name`, at the app's `address`
`open_urls` `urlpatterns`: pages for people without an account
`api`       `ROUTERS`: endpoints, by the beginning of their addresses and their group
`permissions` `ADMINISTER`: permissions of administrators
`shared`    `SHARED`: what users open to people without an account
`panels`    tabs, links and parts of pages of the crawler (`crawling.dashboard.base.panels`)
`command`   `COMMANDS`: of `./crawl` (`crawling.dashboard.management.command_words`)
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from django.apps import AppConfig, apps
from django.utils.module_loading import module_has_submodule


class Use(AppConfig):
    """The app of a use."""

    # Django takes the only class of an `apps.py` that is not marked so
    default = False
    #: where its pages are, if its `urls` have a name of their own
    address = ""

    def __init_subclass__(cls) -> None:
        cls.default = True

    def part(self, name: str) -> Any:
        """The module of that name, or None."""
        if self.module is None or not module_has_submodule(self.module, name):
            return None
        return import_module(f"{self.name}.{name}")


def uses() -> list[Use]:
    """The installed uses, by name."""
    found = (app for app in apps.get_app_configs() if isinstance(app, Use))
    return sorted(found, key=lambda use: use.label)


def offered(module: str, name: str) -> Iterator[Any]:
    """All that uses offer under a name in their modules of one name."""
    for use in uses():
        yield from getattr(use.part(module), name, ())

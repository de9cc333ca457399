"""How a use of crawls (`crawling/uses/`) adds to the product. Its folder is a Django app; the rooms
of the crawler find what it offers by the names of its modules, each of which may be missing.

`jobs`      `KINDS` of background jobs, `FUNCTIONS` that workers call beside them, `DUTIES` of the
            scheduler
`pages`     `urlpatterns`, among those of crawls or at the app's `address`; `open_urlpatterns` of
            pages that need no account; `TABS`, `LINKS`, `PANELS` and more on pages of the crawler
            (`crawling.dashboard.base.panels`)
`api`       `ROUTERS`: endpoints, by the beginning of their addresses and their group
`command`   `COMMANDS` of `./crawl` (`crawling.dashboard.management.command_words`)

Its app connects receivers to events of crawls (`crawling.installation.events`) as it is ready.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
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
    #: permissions of the role of administrators
    administrators_may: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        cls.default = True

    @cache  # noqa: B019  # there are as many as apps, for as long as the process
    def part(self, name: str) -> Any:
        """The module of that name, or None."""
        if self.module is None or not module_has_submodule(self.module, name):
            return None
        return import_module(f"{self.name}.{name}")


@cache
def uses() -> list[Use]:
    """The installed uses, by name."""
    found = (app for app in apps.get_app_configs() if isinstance(app, Use))
    return sorted(found, key=lambda use: use.label)


def offered(module: str, name: str) -> Iterator[Any]:
    """All that uses offer under a name in their modules of one name."""
    for use in uses():
        yield from getattr(use.part(module), name, ())

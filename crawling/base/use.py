"""How a use of crawls adds to the product. Its folder in `crawling/uses/` is a Django app; the
rooms of the crawler find what it offers by the names of its modules, each of which may be missing.

`jobs`      `KINDS` of background jobs, `DUTIES` of the scheduler
`pages`     `urlpatterns`, among those of crawls or at the app's `address`; `open_urlpatterns` of
            pages that need no account; `TABS`, `LINKS`, `PANELS` and more on pages of the crawler
            (`crawling.dashboard.base.panels`); `RESTORABLE` kinds of deleted things
            (`crawling.dashboard.base.recently_deleted`); `FOUND_BY_NAME` for Ctrl-K
            (`crawling.dashboard.base.named_things`)
`news`      `NEWS`: what users are told of on the overview, in the bell and in feeds
            (`crawling.installation.news`)
`api`       `ROUTERS`: endpoints, by the beginning of their addresses and their group
`orders`    `EXTRACTORS`, whose rules orders name (`crawling.runs.crawls.extractor_rules`)
`command`   `COMMANDS` of `./crawl` (`crawling.dashboard.management.command_words`)

A use has an `apps.py` with a Use if its pages have an address of their own, if administrators need
permissions for it, or if its receivers are connected to events of crawls
(`crawling.installation.events`) as it is ready; otherwise Django's plain app will do.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from django.apps import AppConfig, apps
from django.utils.module_loading import module_has_submodule

#: the package of the uses; an app elsewhere is one if its configuration is a Use
PACKAGE = "crawling.uses."


class Use(AppConfig):
    """The app of a use that declares more than its modules can."""

    # Django takes the only class of an `apps.py` without this
    default = False
    #: the address of its pages, if its `urls` have their own namespace
    address = ""
    #: permissions for the role of administrators
    administrators_may: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        cls.default = True


@cache
def uses() -> list[AppConfig]:
    """The installed uses, by name."""
    found = apps.get_app_configs()
    of_crawls = (app for app in found if isinstance(app, Use) or app.name.startswith(PACKAGE))
    return sorted(of_crawls, key=lambda use: use.label)


def address_of(use: AppConfig) -> str:
    """The address of a use's pages. Empty if they are among those of crawls."""
    return use.address if isinstance(use, Use) else ""


@cache
def module_of_use(use: AppConfig, name: str) -> Any:
    """The module with this name in a use, or None."""
    if use.module is None or not module_has_submodule(use.module, name):
        return None
    return import_module(f"{use.name}.{name}")


def offered_by_uses(module: str, name: str) -> Iterator[Any]:
    """Everything that uses offer under a name in their modules of the same name."""
    for use in uses():
        yield from getattr(module_of_use(use, module), name, ())

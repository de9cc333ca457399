"""The parts that packages add to the crawler, and the parts that a crawl needs."""

from __future__ import annotations

from collections.abc import Iterable

from django.core.checks import CheckMessage, Warning

from crawling.orders.ranking import VISIT_ORDERS
from crawling.web.documents.registry import CONTENT_TYPES
from crawling.web.extensions import Extension
from crawling.web.protocols import PROTOCOLS, default_port

POINTS = (PROTOCOLS, CONTENT_TYPES, VISIT_ORDERS)


def installed_extensions() -> list[Extension]:
    """All entry points of packages, whether they are available or not."""
    return [extension for point in POINTS for extension in point.extensions]


def missing_extensions_sentence(visit_order: str, seeds: Iterable[str]) -> str:
    """The reason why a crawl with this order cannot run in this process, with the remedy; empty if
    it can run.

    seeds: in canonical form.
    """
    if visit_order not in VISIT_ORDERS.parts:
        fault = VISIT_ORDERS.fault_of(visit_order)
        return (
            f"The order of visits {visit_order}: "
            f"{fault or _not_installed_sentence(VISIT_ORDERS.group)}."
        )
    for scheme in sorted({seed.partition(":")[0] for seed in seeds}):
        if default_port(scheme) is None:
            fault = PROTOCOLS.fault_of(scheme)
            return f"The scheme {scheme}: {fault or _not_installed_sentence(PROTOCOLS.group)}."
    return ""


def _not_installed_sentence(group: str) -> str:
    return (
        f"no installed package adds it (entry points of {group}); install the package on every "
        "machine, and start the processes again"
    )


def extension_warnings() -> list[CheckMessage]:
    """Faulty packages, for Django's checks."""
    return [
        Warning(extension.sentence, id="crawling.W001", obj=extension.group)
        for extension in installed_extensions()
        if extension.fault
    ]

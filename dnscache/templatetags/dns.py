"""Filters for shares and numbers of threads on the cache's pages."""

from __future__ import annotations

from django import template

from dnscache.protocol.answers import DnsStatus
from dnscache.regions.reverse import REASONS

register = template.Library()


@register.filter
def percent(share: float) -> str:
    """0.123 as 12.3 %."""
    return f"{100 * share:.1f} %"


@register.filter
def threads(weight: float) -> str:
    """A number of threads: `1,234.5`, `0.05`, and `< 0.01` for almost none."""
    if 0 < weight < 0.01:
        return "< 0.01"
    return f"{weight:,.{2 if 0 < weight < 1 else 1}f}"


@register.filter
def reason(status: str) -> str:
    return REASONS[DnsStatus(status)]


@register.filter
def unlocalized(number: float) -> str:
    return f"{number:g}"

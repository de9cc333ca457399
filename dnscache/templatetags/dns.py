"""Shares and lives as the cache's pages show them."""

from __future__ import annotations

from django import template
from django.utils import timezone

from dnscache.models import DnsEntry
from dnscache.protocol.answers import DnsStatus
from dnscache.regions.reverse import REASONS

register = template.Library()


@register.filter
def percent(share: float) -> str:
    """0.123 as 12.3 %."""
    return f"{100 * share:.1f} %"


@register.filter
def threads(weight: float) -> str:
    """A number of threads: `1,234.5`, `0.05`, and `< 0.01` for what is as good as none."""
    if 0 < weight < 0.01:
        return "< 0.01"
    return f"{weight:,.{2 if 0 < weight < 1 else 1}f}"


@register.filter
def reason(status: str) -> str:
    """Why names of this status are hard."""
    return REASONS[DnsStatus(status)]


@register.filter
def life_left(entry: DnsEntry) -> int:
    """How much of its TTL an answer has left, of a hundred."""
    left = (entry.expires_at - timezone.now()).total_seconds()
    return max(0, min(100, round(100 * left / entry.ttl))) if entry.ttl else 0


@register.filter
def unlocalized(number: float) -> str:
    """A number for SVG."""
    return f"{number:g}"

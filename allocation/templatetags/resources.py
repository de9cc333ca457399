"""Numbers and times on the pages of resources."""

from __future__ import annotations

from datetime import datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.filter
def grouped(number: int | None) -> str:
    """`61,440`; None stands for a limit that is not set."""
    return "no limit" if number is None else f"{number:,}"


@register.filter
def moment(at: datetime) -> SafeString:
    """A time as people say it, exact on hover and for programs: `3 min ago`, `in 4 min`."""
    seconds = (timezone.now() - at).total_seconds()
    text = f"{_span(seconds)} ago" if seconds >= 0 else f"in {_span(-seconds)}"
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        at.isoformat(),
        f"{timezone.localtime(at):%Y-%m-%d %H:%M:%S %Z}",
        text,
    )


def _span(seconds: float) -> str:
    """Coarse on purpose: a page that refreshes itself shall change only when something has."""
    if seconds < 60:
        return "under 1 min"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.0f} h"
    return f"{seconds / 86400:.0f} days"


@register.inclusion_tag("allocation/_tabs.html")
def resource_tabs(here: str, pool: int | None = None) -> dict[str, object]:
    """The tabs of the resources; a page about no pool leads to the list of them."""
    return {"here": here, "pool": pool}

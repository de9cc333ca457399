"""Places of links, rendered in Python: for hundreds of rows a template's loop takes a tenth of a
second.

Strangers' words are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from crawling.uses.link_check.link_sources import LinkSource

register = template.Library()


@register.simple_tag
def link_sources(sources: Iterable[LinkSource], run: int) -> SafeString:
    """The sources of links. Each leads to the links of its page, in the run with this number."""
    return mark_safe("".join(_link_source(source, run) for source in sources))  # noqa: S308


def _link_source(source: LinkSource, run: int) -> str:
    element = f"&lt;{escape(source.element)}&gt;" if source.element else escape(source.attribute)
    parts = (
        f"<code>{element}</code>" if element else "",
        f"“{escape(source.anchor)}”" if source.anchor else "",
        f"in {escape(source.place)}" if source.place else "",
    )
    address = f"?run={run}&amp;page={quote(source.page, safe='')}"
    return (
        f'<div><a class="url" href="{address}">{escape(source.page)}</a>'
        f'<small class="sub">{" ".join(filter(None, parts))}</small></div>\n'
    )

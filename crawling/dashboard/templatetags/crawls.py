"""What several pages of a crawl say of it."""

from __future__ import annotations

import shlex

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from crawling.models import CrawlJob
from crawling.models.jobs import RunState
from crawling.web.statuses import NOT_MODIFIED_STATUS

register = template.Library()
#: states in which nothing will happen until somebody says so; every page of the crawl tells
RESTING = (RunState.PAUSING, RunState.PAUSED)


@register.filter
def shell(text: str) -> str:
    """As a shell takes it for one word."""
    return shlex.quote(text)


@register.filter
def status_words(status: int) -> str:
    """An HTTP status; a 304 confirms a page that was fetched before with status 200."""
    return "200 (not modified)" if status == NOT_MODIFIED_STATUS else str(status)


@register.filter
def seconds(span: float) -> str:
    """A short time with its unit, never rounded to nothing: `20 s`, `1.25 s`, `50 ms`, `< 1 ms`."""
    if span == 0 or span >= 1:
        return f"{round(span, 2):g} s"
    return f"{1000 * span:.0f} ms" if span >= 0.001 else "< 1 ms"


@register.simple_tag
def crawl_link(crawl: CrawlJob) -> SafeString:
    """The crawl's name, leading to its page, with its state while it is paused. One query."""
    link = format_html(
        '<a href="{}">{}</a>', reverse("crawling:crawl", args=[crawl.pk]), crawl.name
    )
    state = (
        crawl.runs.filter(is_latest=True, state__in=RESTING).values_list("state", flat=True).first()
    )
    return (
        format_html('{} <span class="state state-{}">{}</span>', link, state, state)
        if state
        else link
    )

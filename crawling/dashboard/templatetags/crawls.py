"""Template tags that several pages of a crawl share."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from django import template
from django.forms import BoundField
from django.template import Context
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.html import conditional_escape, escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from crawling.dashboard.base.crawl_views import crawl_view, run_view, verbs_of
from crawling.dashboard.base.panels import Place, links, panels, tabs
from crawling.dashboard.run.first_page import FIRST
from crawling.dashboard.run.log import LogRow
from crawling.installation import permissions
from crawling.models import CrawlJob, Run
from crawling.models.jobs import RunState
from crawling.runs.crawls.examples import is_example
from crawling.runs.week import CrawlWeek, week_of
from crawling.web.statuses import NOT_MODIFIED_STATUS, status_sentence

register = template.Library()
#: the most characters of a help text that is not folded
LONGEST_HELP = 120
WINDOW = mark_safe(' target="_blank" rel="noopener"')
register.filter("may_end", permissions.may_end)
#: the states in which nothing happens until an operator acts; every page of the crawl shows them
RESTING = (RunState.PAUSING, RunState.PAUSED)
#: the tabs of a crawl, in order; uses insert their own among them
OWN_TABS = (
    ("Overview", "crawl"),
    ("Pages", "pages"),
    ("Not fetched", "not-fetched"),
    ("Queue", "frontier"),
    ("Hosts", "hosts"),
    ("Log", "log"),
    ("Charts", "charts"),
    ("Runs", "runs"),
    ("Settings", "settings"),
)
#: the tabs about the crawl itself. A crawl that was never started has only these, since all others
#: are about a run
OF_THE_CRAWL = frozenset({"crawl", "runs", "settings"})


def all_tabs(first: str = "") -> list[tuple[str, str]]:
    """Name and route of each tab, in order. first: the route of the first tab."""
    found = list(OWN_TABS)
    for tab in tabs():
        before = [route for _, route in found].index(tab.after)
        found.insert(before + 1, (tab.label, tab.route))
    return sorted(found, key=lambda tab: tab[1] != first)


@register.filter
def shell(text: str) -> str:
    """The text, quoted as one word for a shell."""
    return shlex.quote(text)


@register.filter
def digits(number: float, most: int) -> str:
    """A number of unknown magnitude with at most `most` digits, without an exponent: 1,000 and
    0.000012.
    """
    size = math.floor(math.log10(abs(number))) if number else 0
    places = max(0, most - 1 - size)
    return f"{number:,.{places}f}"


@register.filter
def only_here(address: str) -> bool:
    """Whether an address of the dashboard can be opened on this machine only."""
    host = urlsplit(address).hostname or ""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


@register.filter
def example(crawl: CrawlJob) -> bool:
    return is_example(crawl)


@register.filter
def status_words(status: int) -> str:
    """An HTTP status in words; a 304 confirms a page that was fetched before with status 200."""
    return "200 (not modified)" if status == NOT_MODIFIED_STATUS else str(status)


@register.filter
def status_meaning(status: int) -> str:
    """A status; with an error's reason phrase: `200`, `404 Not Found`."""
    return status_sentence(status) if status >= 400 else str(status)


@register.filter
def seconds(span: float) -> str:
    """A short time with its unit, never rounded to zero: `20 s`, `1.25 s`, `50 ms`, `< 1 ms`."""
    if span == 0 or span >= 1:
        return f"{round(span, 2):g} s"
    return f"{1000 * span:.0f} ms" if span >= 0.001 else "< 1 ms"


@register.simple_tag
def field_help(field: BoundField) -> SafeString:
    """The help text of a form's field. A long text is folded after its first sentence."""
    text, described = str(field.help_text), f"{field.auto_id}_helptext"
    first, dot, rest = text.partition(". ")
    if len(text) <= LONGEST_HELP or not rest:
        first, dot, rest = text, "", ""
    shown = format_html('<small id="{}">{}</small>', described, f"{first}{dot}".rstrip())
    if not rest:
        return shown
    about = format_html('<span class="unseen"> about {}</span>', field.label)
    return format_html(
        '{}<details class="more-help"><summary>More{}</summary>{}</details>', shown, about, rest
    )


@register.filter
def moment(at: datetime) -> str:
    """A time by the clock of its own zone, with minutes and the day of the week."""
    return f"{at:%a %Y-%m-%d %H:%M}"


@register.filter
def clock_from(at: datetime, earlier: datetime) -> str:
    """A time after an earlier one: only the time of day, if both are on the same day."""
    return f"{at:%H:%M}" if at.date() == earlier.date() else moment(at)


@register.filter
def ahead(at: datetime) -> str:
    """The time until a moment, in words beside its date: `in 7 days`. Days are rounded."""
    hours = max(0, round((at - timezone.now()).total_seconds() / 3600))
    count, unit = (hours, "hour") if hours < 48 else (round(hours / 24), "day")
    return f"in {count} {unit}{'s' * (count != 1)}" if hours else "within the hour"


@register.filter
def period(span: float) -> str:
    """A time in the largest unit of which it is a whole number, as a user has probably set it: `1
    day`, `90 s`.
    """
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if span and span % size == 0:
            count = round(span / size)
            return f"{count:,} {unit}{'s' * (count != 1)}"
    return f"{span:,.15g} s"


@register.simple_tag
def log_lines(lines: Iterable[LogRow], number: int, marked: str | None) -> SafeString:
    """Lines of the log of the run with this number. A template's loop would take a tenth of a
    second for a thousand lines.

    marked: the id of a highlighted line.
    """
    return mark_safe("".join(_log_line(line, number, marked) for line in lines))  # noqa: S308


def _log_line(line: LogRow, number: int, marked: str | None) -> str:
    """A line of the log. Only the message and the URL contain strangers' words."""
    here = ' aria-current="true"' if line.pk == marked else ""
    level = f"<strong>{line.level}</strong>\n" if line.is_marked else ""
    url = f' <span class="url">{escape(line.url)}</span>' if line.url else ""
    return (
        f'<li id="l{line.pk}" class="level-{line.level}"{here}>'
        f'<a href="?run={number}&amp;line={line.pk}#l{line.pk}"><time datetime="{line.iso}"\n'
        f'title="{line.full}">{line.brief}</time></a> '
        f"{level}{conditional_escape(line.message)}{url}</li>\n"
    )


@register.simple_tag
def crawl_link(crawl: CrawlJob) -> SafeString:
    """The crawl's name as a link to its page, with its state while it is paused. Takes one
    query.
    """
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


@register.simple_tag(name="week_of")
def week(crawl: CrawlJob, runs: Sequence[Run]) -> CrawlWeek | None:
    """The changes of the last week; None if none of the latest runs has ended in it."""
    return week_of(crawl, runs)


@register.inclusion_tag("crawling/_crawl_top.html", takes_context=True)
def crawl_head(
    context: Context, crawl: CrawlJob, here: str, run: Run | None = None
) -> dict[str, object]:
    """The top of all pages of a crawl except its overview. The state is that of the latest run."""
    latest = run if run and run.is_latest else crawl.runs.filter(is_latest=True).first()
    view = run_view(latest, explains=False) if latest else crawl_view(crawl)  # no reason is shown
    shown = run or latest
    page = {
        "crawl": crawl,
        "view": view,
        "verbs": verbs_of(view, latest),
        "run": shown,
        "is_latest": shown == latest,
    }
    tabs = crawl_tabs(crawl, here, shown)
    of_user = {name: context.get(name) for name in ("perms", "request", "look")}
    return tabs | of_user | {"page": page, "here": here}


@register.inclusion_tag("crawling/_tabs.html")
def crawl_tabs(crawl: CrawlJob, here: str, run: Run | None = None) -> dict[str, object]:
    """The tabs of a crawl. `here` is the route of the current tab. An earlier run stays selected;
    without a run the latest is used, which takes a query.
    """
    run = run or crawl.runs.filter(is_latest=True).first()
    asked = f"?run={run.number}" if run and not run.is_latest else ""
    queries = {"runs": "", "settings": ""}
    if crawl.purpose and not asked:
        queries["crawl"] = "?overview"
    return {
        "tabs": [
            {
                "name": name,
                "address": reverse(f"crawling:{route}", args=[crawl.pk])
                + queries.get(route, asked),
                "is_here": route == here,
            }
            for name, route in all_tabs(FIRST.get(crawl.purpose, ""))
            if run or route in OF_THE_CRAWL
        ]
    }


@register.simple_tag(takes_context=True)
def use_links(context: Context, place: str, subject: object, crawl: int) -> SafeString:
    """The links that uses of crawls offer at a place, for this user."""
    shown = [
        format_html(
            '<a href="{}"{}>{}</a>', address, WINDOW if link.opens_window else "", link.label
        )
        for link in links(Place[place])
        if (not link.needs or context["request"].user.has_perm(link.needs))
        and (address := link.address(subject, crawl))
    ]
    return format_html_join(" ·\n  ", "{}", ((one,) for one in shown))


@register.simple_tag(takes_context=True)
def use_panels(context: Context, place: str, subject: object) -> SafeString:
    """The panels that uses of crawls offer at a place. A view that refuses the input of a panel
    puts it into the context as `typed_in_panel`.
    """
    known: dict[str, Any] = {str(name): value for name, value in context.flatten().items()}
    typed = known.get("typed_in_panel", {})
    shown = [
        render_to_string(panel.template, {**known, **facts, **typed})
        for panel in panels(Place[place])
        if (facts := panel.facts(subject)) is not None
    ]
    return mark_safe("".join(shown))  # noqa: S308  # templates of ours

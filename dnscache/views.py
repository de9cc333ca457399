"""The cache's page and files: how names were resolved, the chart of the last hour, the tree, hard
names with reasons, and evictions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme

from dnscache import selectors, services
from dnscache.models import DnsDropped, DnsEntry
from dnscache.protocol.names import LONGEST_NAME, DnsCacheError
from dnscache.records import MOST_PER_SECOND, SUMS, DnsMinute
from dnscache.services import log_action
from serving.access import AuthenticatedRequest, authenticated
from serving.downloads import Download, row_file, send, text_file
from serving.paging import cut_to_limit
from serving.requests import asked_text, render_live, wants_fragment

WIDTH, HEIGHT = 600, 60
KINDS = ("memory", "database", "lookup")
ROWS = 100
#: stands for a status in the list of names that were evicted before they expired
EVICTED = "evicted"
#: the columns of the conflict area: the sort (empty if there is none), the heading, whether the
#: column has numbers
HARD_COLUMNS = (
    ("name", "Name", False),
    ("", "Why", False),
    ("look_up", "Look-up", True),
    ("fails", "Failed in a row", True),
    ("retry", "Asked again", False),
    ("weight", "Threads saved", True),
)
SENTENCES = {
    "retry": "{name} is deleted; it is looked up again when a crawl or a pin needs it.",
    "pin": "{name} is kept fresh while crawls are running.",
    "unpin": "{name} may expire again.",
}
FIELDS = (
    "name", "region", "status", "addresses", "canonical", "ttl", "resolve_ms", "resolved_at",
    "expires_at", "retry_at", "fails", "weight", "upstream", "error",
)  # fmt: skip


@dataclass(frozen=True)
class BarSegment:
    """A part of a bar, in the chart's units."""

    kind: str
    x: float
    y: float
    height: float


@dataclass(frozen=True)
class Bars:
    parts: list[BarSegment]
    #: the height of the chart, in names a minute
    most: int
    width: int = WIDTH
    height: int = HEIGHT


def bars_of(minutes: Sequence[DnsMinute]) -> Bars:
    """The bars, with the last minute on the right; a minute without names has none."""
    most = max((sum(getattr(minute, kind) for kind in KINDS) for minute in minutes), default=0)
    parts = []
    for minute in minutes:
        ago = int((minutes[-1].minute - minute.minute).total_seconds() // 60)
        top = float(HEIGHT)
        for kind in KINDS:
            height = HEIGHT * getattr(minute, kind) / most if most else 0.0
            top -= height
            parts.append(
                BarSegment(kind, WIDTH - 10.0 * (ago + 1), round(top, 2), round(height, 2))
            )
    return Bars([part for part in parts if part.height and part.x >= 0], most)


@dataclass(frozen=True)
class TableHeading:
    """A heading of a table; a link if the table can be sorted by it."""

    sort: str
    label: str
    is_number: bool
    is_sorted: bool


@authenticated(needs="dnscache.view_dnsentry")
def overview(request: AuthenticatedRequest) -> HttpResponse:
    """Show the threads that the cache saves, how names were resolved in the last hour, the lanes
    and the name servers; the tree from the cache of `?machine=`, and a list of names.
    """
    told = selectors.cache_overview()
    context = {
        "told": told,
        "bars": bars_of(told.minutes),
        "gate": settings.DNS_AHEAD == "gate",
        "most_per_second": MOST_PER_SECOND,
    }
    if not wants_fragment(request):
        context |= {"tree": _tree_context(request), "list": _conflict_area_context(request)}
    return render_live(request, "dnscache/overview.html", "dnscache/_overview.html", context)


def _tree_context(request: AuthenticatedRequest) -> dict[str, Any]:
    """Registered names after `?behind=` that contain `?registered=`, or the tree of `?domain=`."""
    text, behind, domain, machine = (
        asked_text(request.GET, name, most=LONGEST_NAME)
        for name in ("registered", "behind", "domain", "machine")
    )
    facts: dict[str, Any] = {"domain": domain, "text": text, "domains": (), "next": None}
    if domain:
        return {**facts, "view": selectors.domain_tree(domain, machine=machine)}
    view = selectors.registered_names(text=text, after=behind, most=ROWS + 1, machine=machine)
    rows, following = cut_to_limit(view.domains, ROWS, lambda row: row.registrable)
    return {**facts, "view": view, "domains": rows, "next": following}


def _conflict_area_context(request: AuthenticatedRequest) -> dict[str, Any]:
    """The names of the conflict area with `?status=` that contain `?q=`, in the order of `?sort=`,
    after the name `?after=`. For the status EVICTED: answers that were evicted before they expired,
    the latest first.
    """
    text, status, sort, after = (
        asked_text(request.GET, name, most=LONGEST_NAME)
        for name in ("q", "status", "sort", "after")
    )
    counts = selectors.failing_counts()
    labels = {
        value: (label, counts[value]) for value, label in DnsEntry.Status.choices if value in counts
    }
    facts: dict[str, Any] = {
        **{"status": status, "text": text, "statuses": labels, "total": sum(counts.values())},
        **{"rows": (), "columns": (), "after": after, "next": "", "dropped": ()},
    }
    if status == EVICTED:
        dropped = DnsDropped.objects.filter(name__contains=text).order_by("-pk")
        return {**facts, "dropped": dropped[: 2 * ROWS]}
    sort = sort if sort in selectors.SORTS else "weight"
    rows = selectors.failing_names(
        status=status if status in counts else "", text=text, sort=sort, after=after, most=ROWS + 1
    )
    columns = [
        TableHeading(key, label, is_number, key == sort) for key, label, is_number in HARD_COLUMNS
    ]
    following = rows[ROWS - 1].entry.name if len(rows) > ROWS else ""
    return {**facts, "rows": rows[:ROWS], "next": following, "columns": columns}


@authenticated(needs="dnscache.view_dnsentry")
def export_cache(request: AuthenticatedRequest, kind: str) -> StreamingHttpResponse:
    """Download the whole cache: for spreadsheets, for programs, or as the text of a zone."""
    return send(cache_file(kind))


@authenticated(needs="dnscache.view_dnsentry")
def minutes_csv(request: AuthenticatedRequest) -> StreamingHttpResponse:
    return send(minutes_file(selectors.cache_overview().minutes))


@authenticated(needs="dnscache.change_dnsentry", methods=("POST",))
def act_on_name(request: AuthenticatedRequest, deed: str) -> HttpResponse:
    """Retry, pin or unpin the name that was posted."""
    try:
        name = services.apply_action(request.POST.get("name", ""), deed)
    except DnsCacheError as error:
        messages.error(request, f"Give the name of a host: {error}.")
        return _redirect_back(request)
    log_action(request.user, [name], deed)
    messages.success(request, SENTENCES[deed].format(name=name))
    return _redirect_back(request)


@authenticated(needs="dnscache.delete_dnsentry", methods=("POST",))
def flush_scope(request: AuthenticatedRequest) -> HttpResponse:
    """Forget the names of `scope`: `all`, `reverse`, or `domain` with the registered name in
    `value`.
    """
    scope, value = request.POST.get("scope", ""), request.POST.get("value", "").strip()
    try:
        count = services.flush_scope(scope, value)
    except DnsCacheError as error:
        messages.error(request, f"Nothing is flushed: {error}.")
        return _redirect_back(request)
    log_action(request.user, [value or scope], "flush")
    messages.success(request, f"{count:,} names flushed; other processes notice within a second.")
    return _redirect_back(request)


@authenticated(needs="dnscache.change_dnsserver", methods=("POST",))
def limit_name_server(request: AuthenticatedRequest) -> HttpResponse:
    """Limit look-ups at the name server `server` to `per_second` a second."""
    server, text = request.POST.get("server", ""), request.POST.get("per_second", "")
    try:
        per_second = int(text) if text.isascii() and text.isdigit() else 0
        services.set_limit(server, per_second)
    except DnsCacheError as error:
        messages.error(request, f"The limit is as it was: {error}.")
        return _redirect_back(request)
    log_action(request.user, [server], f"limit of {per_second} look-ups a second")
    messages.success(request, f"{server} is asked {per_second:,} names a second at most.")
    return _redirect_back(request)


def _redirect_back(request: HttpRequest) -> HttpResponse:
    target = request.POST.get("next", "")
    return redirect(
        target if url_has_allowed_host_and_scheme(target, None) else "dnscache:overview"
    )


def cache_file(kind: str) -> Download:
    """The whole cache in the order of names: csv, json, or txt in the form of a zone file, with
    failures as comments.
    """
    rows = DnsEntry.objects.order_by("name").values(*FIELDS).iterator(chunk_size=2000)
    if kind == "txt":
        return text_file("dns-cache", (line for row in rows for line in _zone_lines(row)))
    return row_file("dns-cache", kind, map(_row_with_plain_times, rows), FIELDS)


def minutes_file(minutes: Iterable[DnsMinute]) -> Download:
    """The numbers of the chart of the last hour, a line a minute."""
    rows = ({name: getattr(minute, name) for name in ("minute", *SUMS)} for minute in minutes)
    return row_file("dns-last-hour", "csv", rows, ("minute", *SUMS))


def _zone_lines(row: dict[str, object]) -> Iterator[str]:
    name, addresses = row["name"], row["addresses"]
    assert isinstance(addresses, list)
    if not addresses:
        yield f"; {name}. {row['status']} {' '.join(str(row['error']).split())}".rstrip() + "\n"
    owner = name
    if row["canonical"] and row["canonical"] != name:
        yield f"{name}. {row['ttl']} IN CNAME {row['canonical']}.\n"
        owner = row["canonical"]
    for address in addresses:
        yield f"{owner}. {row['ttl']} IN {'AAAA' if ':' in address else 'A'} {address}\n"


def _row_with_plain_times(row: dict[str, object]) -> dict[str, object]:
    """The row with times as texts that have a space between date and time."""
    return {name: str(cell) if isinstance(cell, datetime) else cell for name, cell in row.items()}

"""A pool's past: one event at a time, with the matrices at that time. All choices are in the page's
address.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import render

from allocation.errors import LedgerUnreadable, UnknownEvent, UnknownPool
from allocation.history.as_of import PastBank, bank_as_of
from allocation.history.chart import SPANS, utilisation_chart
from allocation.history.listing import (
    EventFilter,
    neighbours_of_event,
    next_events_by_kind,
    processes_of,
)
from allocation.models import EventKind, Pool
from allocation.wording import UnitWords, whole_number
from serving.access import AuthenticatedRequest, authenticated
from serving.downloads import cell_file, send

#: kinds of events with a separate link to the next one of the kind
SHORT_CUTS = {
    "granted": "grant",
    "waiting": "wait",
    "rejected": "rejection",
    "released": "release",
    "reaped": "reaped lease",
}
DEFAULT_SPAN = "all"


@dataclass(frozen=True)
class EventLink:
    """A link to another event. Without a target it is shown and disabled."""

    text: str
    href: str = ""
    rel: str = ""


@authenticated(needs="allocation.view_pool")
def history(request: AuthenticatedRequest, pool: int) -> HttpResponse:
    """Show the pool as of an event (`event`), links to other events of a `process` and `kind`, and
    the held share of the pool's units over time (`span`).
    """
    filters = EventFilter(
        whole_number(request.GET.get("process")) or 0, _known_kind(request.GET.get("kind"))
    )
    span = request.GET.get("span", "")
    span = span if span in SPANS else DEFAULT_SPAN
    try:
        then = bank_as_of(pool, whole_number(request.GET.get("event")) or None)
    except (UnknownPool, UnknownEvent) as error:
        raise Http404(str(error)) from error
    except LedgerUnreadable as error:
        return render(
            request,
            "allocation/history_unreadable.html",
            {"sentence": str(error), "pool": pool},
            status=500,
        )
    context = {
        **_describe_event(then),
        "then": then,
        "ways": _event_links(then, filters, span),
        "short_cuts": _shortcut_links(then, filters, span),
        "filters": filters,
        "kinds": [(kind.value, kind.label.partition(" (")[0]) for kind in EventKind],
        "processes": processes_of(pool),
        "span": span,
        "chart": utilisation_chart(pool, span),
        "spans": [(name, _address_of_event(then.event.version, filters, name)) for name in SPANS],
    }
    return render(request, "allocation/history.html", context)


@authenticated(needs="allocation.view_pool")
def chart_numbers_file(request: AuthenticatedRequest, pool: int) -> StreamingHttpResponse:
    """Send the numbers behind the charts of a `span`, as CSV."""
    if not Pool.objects.filter(pk=pool).exists():
        raise Http404(f"There is no pool {pool}.")
    span = request.GET.get("span", "")
    chart = utilisation_chart(pool, span if span in SPANS else DEFAULT_SPAN)
    columns = [
        "until",
        *(f"{name} reserved, %" for name in chart.names),
        *(f"{name} used, %" for name in chart.names),
        "waiting requests",
    ]
    rows = (
        [sample.at.isoformat(), *sample.reserved, *sample.used, sample.waiting]
        for sample in chart.samples
    )
    return send(cell_file(f"pool-{pool}-over-time", columns, rows))


def _describe_event(then: PastBank) -> Mapping[str, object]:
    measures = [UnitWords(resource.key, resource.unit) for resource in then.resources]

    def amounts_in_words(amounts: tuple[int, ...]) -> list[str]:
        return [
            measure.amount(units)
            for measure, units in zip(measures, amounts, strict=False)
            if units
        ]

    return {
        "what": EventKind(then.event.kind).label.partition(" (")[0],
        "amounts": amounts_in_words(tuple(then.event.amounts)),
        "waits": [(wait, amounts_in_words(wait.amounts)) for wait in then.waiting],
        "is_decision": then.event.kind
        in (EventKind.GRANTED, EventKind.WAITING, EventKind.REJECTED),
    }


def _event_links(then: PastBank, filters: EventFilter, span: str) -> list[EventLink]:
    ways = neighbours_of_event(then.id, then.event.version, filters)
    return [
        _event_link("First", ways.first, filters, span),
        _event_link("Back", ways.back, filters, span, rel="prev"),
        _event_link("Forward", ways.forward, filters, span, rel="next"),
        _event_link("Last", ways.last, filters, span),
    ]


def _shortcut_links(then: PastBank, filters: EventFilter, span: str) -> list[EventLink]:
    found = next_events_by_kind(then.id, then.event.version, filters.process, list(SHORT_CUTS))
    return [
        _event_link(f"Next {SHORT_CUTS[kind]}", version, filters, span)
        for kind, version in found.items()
        if version
    ]


def _event_link(
    text: str, version: int | None, filters: EventFilter, span: str, rel: str = ""
) -> EventLink:
    return EventLink(text, _address_of_event(version, filters, span) if version else "", rel)


def _address_of_event(version: int, filters: EventFilter, span: str) -> str:
    chosen = {
        "event": version,
        "process": filters.process or "",
        "kind": filters.kind,
        "span": "" if span == DEFAULT_SPAN else span,
    }
    return "?" + urlencode({name: value for name, value in chosen.items() if value})


def _known_kind(text: str | None) -> str:
    return text if text in EventKind.values else ""

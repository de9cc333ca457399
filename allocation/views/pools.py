"""The pages that show pools, and the page that creates one."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.contrib.admin.models import ADDITION, LogEntry
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render

from allocation import selectors
from allocation.errors import AllocationError, UnknownPool
from allocation.forms import NewPoolForm
from allocation.history.listing import recent_events
from allocation.selectors import pool_cards
from allocation.services import create_pool_like
from allocation.snapshot import BankView, ProcessRow
from allocation.wording import whole_number
from serving.access import AuthenticatedRequest, authenticated
from serving.requests import render_live

EVENTS = 50
#: the number of processes on a page of a table
ROWS = 50
#: the number of waits that are shown with their holders; each further wait gets one sentence
WAITS = 10


@authenticated(needs="allocation.view_pool")
def pools_page(request: AuthenticatedRequest) -> HttpResponse:
    """List the pools with the held share of their units, or show the only pool."""
    cards = pool_cards()
    if len(cards) == 1:
        return redirect("allocation:pool", cards[0].id)
    return render_live(request, "allocation/pools.html", "allocation/_pools.html", {"pools": cards})


@authenticated(needs="allocation.view_pool")
def pool_page(request: AuthenticatedRequest, pool: int) -> HttpResponse:
    view = _pool_view_or_404(pool)
    text = request.GET.get("q", "").strip()
    here = {
        "bank": view,
        "text": text,
        "is_large": len(view.processes) > ROWS,
        "rows": Paginator(_processes_matching(view, text), ROWS).get_page(request.GET.get("page")),
        "waits": view.waiting[:WAITS],
        "more_waits": view.waiting[WAITS:],
    }
    return render_live(request, "allocation/pool.html", "allocation/_pool.html", here)


@authenticated(needs="allocation.view_pool")
def safe_sequence_page(request: AuthenticatedRequest, pool: int) -> HttpResponse:
    view = _pool_view_or_404(pool)
    here = {
        "bank": view,
        "steps": Paginator(_step_lines(view), ROWS).get_page(request.GET.get("steps")),
        "empty_handed": [
            step.process for step in view.safe_sequence or () if not any(step.process.allocation)
        ],
    }
    return render_live(request, "allocation/sequence.html", "allocation/_sequence.html", here)


@authenticated(needs="allocation.view_pool")
def events_page(request: AuthenticatedRequest, pool: int) -> HttpResponse:
    """Show recent events, of all processes or of `?process=`."""
    process = whole_number(request.GET.get("process", ""))
    found = recent_events(pool, process=process, most=EVENTS)
    here = {
        "bank": _pool_view_or_404(pool),
        "chosen": found[0].label if process and found else "",
        "events": found,
    }
    return render_live(request, "allocation/events.html", "allocation/_events.html", here)


def _pool_view_or_404(pool: int) -> BankView:
    """The current state of the pool. Raises Http404 if there is no such pool."""
    try:
        return selectors.bank_view(pool)
    except UnknownPool as error:
        raise Http404(str(error)) from error


def _processes_matching(view: BankView, text: str) -> list[ProcessRow]:
    """The processes with the text in their label or run, ignoring case. Processes that hold
    something come first.
    """
    piece = text.casefold()
    return [
        row
        for row in view.processes
        if piece in row.label.casefold() or piece in row.run_ref.casefold()
    ]


@dataclass(frozen=True)
class StepLine:
    process: ProcessRow
    #: Need and Work of the process, for each class
    cells: list[tuple[int, int]]


def _step_lines(view: BankView) -> list[StepLine]:
    """A line for each process that holds something. The other processes get all Work, in any
    order.
    """
    return [
        StepLine(step.process, list(zip(step.process.need, step.work, strict=True)))
        for step in view.safe_sequence or ()
        if any(step.process.allocation)
    ]


@authenticated(needs="allocation.change_pool", methods=("GET", "HEAD", "POST"))
def new_pool(request: AuthenticatedRequest) -> HttpResponse:
    form = NewPoolForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            pool = create_pool_like(name=form.cleaned_data["name"], capacity=form.capacity())
        except AllocationError as error:
            form.add_error("name", str(error))
        else:
            LogEntry.objects.log_actions(
                request.user.pk, [pool], ADDITION, "created the pool", single_object=True
            )
            messages.success(request, f"The pool {pool.name} is made; crawls can choose it.")
            return redirect(pool)
    status = 200 if request.method != "POST" else 422
    return render(request, "allocation/new_pool.html", {"form": form}, status=status)

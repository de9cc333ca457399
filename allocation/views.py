"""The bank's pages: look, don't touch."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from allocation import selectors
from allocation.errors import UnknownPool
from allocation.models import Pool
from allocation.snapshot import BankView


@require_GET
@login_required
def banks(request: HttpRequest) -> HttpResponse:
    """List the pools, or show the only one."""
    pools = list(Pool.objects.order_by("name"))
    return redirect(pools[0]) if len(pools) == 1 else render(request, "allocation/banks.html", {"pools": pools})


@require_GET
@login_required
def bank(request: HttpRequest, pool: int) -> HttpResponse:
    """Show Available, Max, Allocation and Need, the safe sequence, and why each request waits."""
    try:
        view = selectors.bank_view(pool)
    except UnknownPool as error:
        raise Http404(str(error)) from error
    return render(request, "allocation/bank.html", {"bank": view, "steps": _steps(view)})


def _steps(view: BankView) -> list[dict[str, object]]:
    keys = [resource.key for resource in view.resources]
    return [
        {
            "label": step.process.label,
            "need": _words(keys, step.process.need),
            "work": _words(keys, step.work),
            "returned": _words(keys, step.process.allocation),
            "work_after": _words(keys, step.work_after),
        }
        for step in view.safe_sequence or ()
    ]


def _words(keys: Sequence[str], units: Sequence[int]) -> str:
    return ", ".join(f"{count} {key}" for key, count in zip(keys, units, strict=True) if count) or "nothing"

"""The pages on which administrators set the limits of pools."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from allocation.limits_pages import POOL_PAGES, answer_limits
from allocation.models import Pool
from serving.access import AuthenticatedRequest, authenticated


@dataclass(frozen=True)
class ClassLimits:
    """A resource class of a pool, with its limits."""

    key: str
    unit: str
    sentence: str
    capacity: int
    available: int
    reserved: int


@authenticated(needs="allocation.view_pool")
def limits(request: AuthenticatedRequest) -> HttpResponse:
    """List the resource classes of each pool with their limits, and the ways to change them."""
    pools = Pool.objects.filter(is_experiment=False).order_by("pk").prefetch_related("classes")
    here = {"pools": [(pool, _classes(pool)) for pool in pools], "pages": POOL_PAGES}
    return render(request, "allocation/limits.html", here)


@authenticated(needs="allocation.change_pool", methods=("GET", "HEAD", "POST"))
def edit_limits(request: AuthenticatedRequest, pool: int, page: str) -> HttpResponse:
    """Show a form for limits of a pool, then what would come of it; change them once confirmed."""
    row = get_object_or_404(Pool, pk=pool)
    wanted = next((one for one in POOL_PAGES if one.name == page), None)
    if wanted is None:
        raise Http404(f"There is no page of limits named {page}.")
    sent = request.POST if request.method == "POST" else None
    answer = answer_limits(wanted, row, sent, request.user)
    if answer.done:
        messages.success(request, answer.done)
        return redirect("allocation:limits")
    here = {"pool": row, "title": wanted.title, "answer": answer, "form": answer.form}
    return render(request, "allocation/edit_limits.html", here | {"preview": answer.preview})


def _classes(pool: Pool) -> list[ClassLimits]:
    return [
        ClassLimits(
            one.key,
            one.unit,
            one.sentence,
            pool.capacity[one.ordinal],
            pool.available[one.ordinal],
            pool.reserved[one.ordinal],
        )
        for one in pool.classes.all()
    ]

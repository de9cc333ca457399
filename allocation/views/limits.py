"""The pages on which administrators set the limits of pools."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from allocation.limits_pages import POOL_PAGES, SHARE_PAGES, LimitsPage, Row, process_limits_form
from allocation.models import Pool, Share
from allocation.snapshot import ResourceRow
from serving.access import AuthenticatedRequest, authenticated


@authenticated(needs="allocation.view_pool")
def limits_page(request: AuthenticatedRequest) -> HttpResponse:
    pools = Pool.objects.filter(is_experiment=False).order_by("pk").prefetch_related("classes")
    here = {"pools": [(pool, _resource_rows(pool)) for pool in pools], "pages": POOL_PAGES}
    return render(request, "allocation/limits.html", here)


@authenticated(needs="allocation.change_pool", methods=("GET", "HEAD", "POST"))
def edit_limits(request: AuthenticatedRequest, pool: int, page: str) -> HttpResponse:
    """Show a form for the limits of a pool, then the effect of the change. Make the change once it
    is confirmed.
    """
    row = get_object_or_404(Pool, pk=pool)
    wanted = next((one for one in POOL_PAGES if one.name == page), None)
    if wanted is None:
        raise Http404(f"There is no page of limits named {page}.")
    return _answer_to_edit(request, row, wanted, row)


@authenticated(needs="allocation.change_pool", methods=("GET", "HEAD", "POST"))
def edit_share(request: AuthenticatedRequest, pool: int, share: int) -> HttpResponse:
    """Show a form for the reserve and the limit of a team, then the effect of the change. Make the
    change once it is confirmed.
    """
    row = get_object_or_404(Share.objects.select_related("pool"), pk=share, pool=pool)
    return _answer_to_edit(request, row.pool, SHARE_PAGES[0], row)


def _answer_to_edit(
    request: AuthenticatedRequest, pool: Pool, page: LimitsPage[Row], row: Row
) -> HttpResponse:
    sent = request.POST if request.method == "POST" else None
    answer = process_limits_form(page, row, sent, request.user)
    if answer.done:
        messages.success(request, answer.done)
        return redirect("allocation:limits" if row is pool else pool)
    if sent is None and (asked := answer.form.fields.get(request.GET.get("class", ""))):
        asked.widget.attrs["autofocus"] = True
    here = {"pool": pool, "title": f"{page.title} of {row}", "answer": answer, "form": answer.form}
    return render(request, "allocation/edit_limits.html", here | {"preview": answer.preview})


def _resource_rows(pool: Pool) -> list[ResourceRow]:
    return [
        ResourceRow(
            one.key,
            one.unit,
            one.sentence,
            pool.capacity[one.ordinal],
            pool.available[one.ordinal],
            pool.reserved[one.ordinal],
        )
        for one in pool.classes.all()
    ]

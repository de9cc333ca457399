"""The share links of a collection, and the page behind them, for people without an account."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_safe

from allocation.wording import whole_number
from crawling.base.errors import BadOrder, CrawlError
from crawling.dashboard.base.trouble import errors_told
from crawling.dashboard.run.shared_report import without_user
from crawling.runs.crawls.share_links import MOST_DAYS, USUAL_DAYS
from crawling.uses.collections.asked import CHANGE, head_facts, wanted_collection
from crawling.uses.collections.changes import require_change
from crawling.uses.collections.members import figures_of
from crawling.uses.collections.share_links import (
    create_link,
    links_of,
    open_links,
    revoke_link,
    shared_collection,
    shared_members,
)
from serving.access import AuthenticatedRequest, authenticated
from serving.visitors import HEADERS, exceeds_shared_reports, seconds_left

#: members a page
ROWS = 100


@authenticated(needs=CHANGE, methods=("GET", "HEAD", "POST"))
@never_cache
@sensitive_variables("token", "address")
def share(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """List the collection's links; a POST creates one, and shows its address in this answer
    only.
    """
    collection, address, error = wanted_collection(pk), "", ""
    require_change(request.user, collection)
    days = request.POST.get("days", str(USUAL_DAYS)).strip()
    if request.method == "POST":
        try:
            _, token = create_link(collection, days=whole_number(days) or 0, by=request.user)
            address = request.build_absolute_uri(reverse("shared-collection", args=[token]))
        except BadOrder as trouble:
            error = trouble.errors["days"]
        except CrawlError as trouble:
            error = str(trouble)
    links = links_of(collection)
    here = head_facts(request, collection) | {
        "links": links,
        "open_links": open_links(links),
        "address": address,
        "error": error,
        "days": days,
        "most_days": MOST_DAYS,
    }
    return render(request, "collections/share.html", here, status=422 if error else 200)


@authenticated(needs=CHANGE, methods=("POST",))
def revoke(request: AuthenticatedRequest, pk: int, number: int) -> HttpResponse:
    with errors_told(request, CrawlError):
        revoke_link(wanted_collection(pk), number, by=request.user)
        messages.success(request, "The share link is revoked.")
    return redirect("collections:share", pk)


@require_safe
@sensitive_variables("token")
def shared(request: HttpRequest, token: str) -> HttpResponse:
    """The collection that the token opens, the same for all visitors.

    Tokens that are unknown, expired, revoked or of a deleted collection get the same answer.
    """
    if exceeds_shared_reports(request):
        refusal = _page("shared/too_many.html", {}, status=429)
        refusal["Retry-After"] = str(seconds_left())
        return refusal
    link = shared_collection(token)
    if link is None:
        return _page("shared/nothing.html", {}, status=404)
    rows = shared_members(link)
    shown = Paginator(rows, ROWS).get_page(request.GET.get("page"))
    facts = {
        "collection": link.collection,
        "expires_at": link.expires_at,
        "figures": figures_of(rows),
        "singles": sum(row.page is not None for row in rows),
        "page": shown,
        "rows": [(row, without_user(row.name), without_user(row.url)) for row in shown],
    }
    return _page("collections/shared.html", facts)


def _page(template: str, facts: Mapping[str, Any], status: int = 200) -> HttpResponse:
    """Rendered without the request: a logged-in user gets neither navigation nor messages here."""
    return HttpResponse(render_to_string(template, dict(facts)), status=status, headers=HEADERS)

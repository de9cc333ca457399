"""The page with the share links of a collection: create one, revoke one."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables

from allocation.wording import whole_number
from crawling.base.errors import BadOrder, CrawlError
from crawling.dashboard.base.trouble import errors_told
from crawling.runs.crawls.share_links import MOST_DAYS, USUAL_DAYS
from crawling.uses.collections.asked import CHANGE, collection_or_404, head_facts
from crawling.uses.collections.changes import require_change
from crawling.uses.collections.share_links import (
    create_link,
    links_of,
    open_link_ids,
    revoke_link,
)
from serving.access import AuthenticatedRequest, authenticated


@authenticated(needs=CHANGE, methods=("GET", "HEAD", "POST"))
@never_cache
@sensitive_variables("token", "address")
def share_links_page(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """List the collection's links. A POST creates a link; only its answer shows the link's
    address.
    """
    collection, address, error = collection_or_404(pk), "", ""
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
        "open_links": open_link_ids(links),
        "address": address,
        "error": error,
        "days": days,
        "most_days": MOST_DAYS,
    }
    return render(request, "collections/share.html", here, status=422 if error else 200)


@authenticated(needs=CHANGE, methods=("POST",))
def revoke_posted_link(request: AuthenticatedRequest, pk: int, number: int) -> HttpResponse:
    with errors_told(request, CrawlError):
        revoke_link(collection_or_404(pk), number, by=request.user)
        messages.success(request, "The share link is revoked.")
    return redirect("collections:share", pk)

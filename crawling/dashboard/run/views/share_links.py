"""The share links of a crawl: list them, create a link, revoke one."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables

from allocation.wording import whole_number
from crawling.base.errors import BadOrder, CrawlError
from crawling.installation.permissions import still_shared
from crawling.models import CrawlJob, ShareLink
from crawling.runs.crawls.share_links import (
    MOST_DAYS,
    USUAL_DAYS,
    create_share_link,
    revoke_share_link,
    share_links_of,
)
from serving.access import AuthenticatedRequest, authenticated


@authenticated(needs="crawling.change_crawljob", methods=("GET", "HEAD", "POST"))
@never_cache
@sensitive_variables("token", "address")
def share(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """List the crawl's links. A POST creates a link; only its answer shows the link's address."""
    crawl = get_object_or_404(CrawlJob, pk=pk)
    address, error = "", ""
    days = request.POST.get("days", str(USUAL_DAYS)).strip()
    if request.method == "POST":
        try:
            _, token = create_share_link(crawl, days=whole_number(days) or 0, by=request.user)
            address = request.build_absolute_uri(reverse("shared-report", args=[token]))
        except BadOrder as trouble:
            error = trouble.errors["days"]
        except CrawlError as trouble:
            error = str(trouble)
    links = share_links_of(crawl)
    here = {
        "crawl": crawl,
        "links": links,
        "open_links": still_shared(crawl, links),
        "address": address,
        "error": error,
        "days": days,
        "most_days": MOST_DAYS,
    }
    return render(request, "crawling/share.html", here, status=422 if error else 200)


@authenticated(needs="crawling.change_crawljob", methods=("POST",))
def revoke(request: AuthenticatedRequest, pk: int, number: int) -> HttpResponse:
    revoke_share_link(get_object_or_404(ShareLink, pk=number, crawl=pk), by=request.user)
    messages.success(request, "The share link is revoked.")
    return redirect("crawling:share", pk=pk)

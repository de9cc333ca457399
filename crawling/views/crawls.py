"""The list of crawls."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from crawling.models import CrawlJob
from crawling.selectors import crawl_views

CRAWLS_PER_PAGE = 50


@require_GET
@login_required
def crawls(request: HttpRequest) -> HttpResponse:
    """List crawls, the newest first, each with its state, why, and its counts."""
    page = Paginator(CrawlJob.objects.all(), CRAWLS_PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "crawling/crawls.html", {"page": page, "crawls": crawl_views(list(page.object_list))})

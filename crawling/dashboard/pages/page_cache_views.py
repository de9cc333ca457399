"""What reusing other crawls' pages has spared."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required, permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from crawling.dashboard.pages.page_cache import page_cache

MOST = 50


@require_GET
@login_required
@permission_required("crawling.view_crawljob", raise_exception=True)
def show(request: HttpRequest) -> HttpResponse:
    """Show hit rate, requests saved and the pages that several crawls want most."""
    return render(request, "crawling/page_cache.html", {"cache": page_cache(most=MOST)})

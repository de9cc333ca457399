"""Keep a crawl's order as a template, and forget one. The page for a new crawl begins with them."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.text import capfirst
from django.views.decorators.http import require_POST

from crawling.crawls.templates import remove_template, save_template
from crawling.errors import BadOrder
from crawling.models import CrawlJob, OrderTemplate


@require_POST
@login_required
@permission_required("crawling.add_crawljob", raise_exception=True)
def save(request: HttpRequest, pk: int) -> HttpResponse:
    """Keep the crawl's order under the name that is asked for."""
    assert isinstance(request.user, User)
    crawl = get_object_or_404(CrawlJob, pk=pk)
    try:
        template = save_template(crawl, request.POST.get("template", ""), by=request.user)
    except BadOrder as error:
        messages.error(request, f"The template is not kept. {capfirst(str(error))}.")
    else:
        messages.success(
            request, f"{template.name} is kept as a template; the page for a new crawl offers it."
        )
    return redirect("crawling:crawl", pk)


@require_POST
@login_required
@permission_required("crawling.delete_crawljob", raise_exception=True)
def remove(request: HttpRequest, pk: int) -> HttpResponse:
    """Forget a template."""
    assert isinstance(request.user, User)
    template = get_object_or_404(OrderTemplate, pk=pk)
    remove_template(template, by=request.user)
    messages.success(request, f"The template {template.name} is removed; crawls made from it stay.")
    return redirect("crawling:new")

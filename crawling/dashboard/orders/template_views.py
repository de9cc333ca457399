"""The page of all templates; keep a crawl's order as a template, and delete one."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.text import capfirst

from crawling.crawls.templates import remove_template, save_template
from crawling.errors import BadOrder
from crawling.models import CrawlJob, OrderTemplate
from serving.access import AuthenticatedRequest, authenticated


@authenticated(needs="crawling.view_crawljob")
def templates(request: AuthenticatedRequest) -> HttpResponse:
    """List the templates with what they would crawl."""
    rows = OrderTemplate.objects.select_related("created_by")
    return render(request, "crawling/templates.html", {"rows": rows})


@authenticated(needs="crawling.add_crawljob", methods=("POST",))
def save(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Keep the crawl's order under the name that is asked for."""
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


@authenticated(needs="crawling.delete_crawljob", methods=("POST",))
def remove(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Delete a template; it can be restored for a while."""
    template = get_object_or_404(OrderTemplate, pk=pk)
    remove_template(template, by=request.user)
    messages.success(request, f"The template {template.name} is deleted; crawls made from it stay.")
    return redirect("crawling:templates")

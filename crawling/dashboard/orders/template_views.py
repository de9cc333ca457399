"""Orders kept as templates: the page of all, and the buttons that keep and delete one."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.text import capfirst

from crawling.base.errors import BadOrder
from crawling.dashboard.base.undo import tell_deleted
from crawling.models import CrawlJob, OrderTemplate
from crawling.runs.crawls.templates import remove_template, save_template, templates_for
from serving.access import AuthenticatedRequest, authenticated


@authenticated(needs="crawling.view_crawljob")
def templates(request: AuthenticatedRequest) -> HttpResponse:
    return render(request, "crawling/templates.html", {"rows": templates_for(request.user)})


@authenticated(needs="crawling.add_crawljob", methods=("POST",))
def keep_template(request: AuthenticatedRequest, pk: int) -> HttpResponse:
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
def delete_template(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    template = get_object_or_404(OrderTemplate, pk=pk)
    item = remove_template(template, by=request.user)
    text = f"The template {template.name} is deleted; crawls made from it stay."
    tell_deleted(request, text, item)
    return redirect("crawling:templates")

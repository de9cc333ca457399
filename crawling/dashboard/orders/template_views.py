"""Orders kept as templates: the page of all templates, the buttons that keep and delete one, and
the button that saves the form's rules as an extractor.
"""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.text import capfirst

from crawling.base.errors import BadOrder
from crawling.dashboard.base.trouble import errors_told
from crawling.dashboard.base.undo import tell_deleted
from crawling.dashboard.orders.create_views import form_of, form_page, needs_pool
from crawling.dashboard.orders.forms.create import CrawlForm
from crawling.models import CrawlJob, OrderTemplate
from crawling.runs.crawls.extractor_rules import named_rules, save_named_rules
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


@authenticated(needs="crawling.add_crawljob", methods=("POST",))
@needs_pool
def keep_rules(request: AuthenticatedRequest) -> HttpResponse:
    """Save the rules in the form for a new crawl as an extractor with the given name. The form is
    shown again, with this extractor chosen.
    """
    form = form_of(request)
    answers, taken = form.answers, named_rules(str(form.cleaned_data.get("extractor", "")))
    rules = {**(taken.rules if taken else {}), **form.order_answers().get("extract", {})}
    with errors_told(request, BadOrder):
        kept = save_named_rules(request.POST.get("extractor_name", ""), rules, by=request.user)
        answers |= {"extractor": kept.reference, "extract": ""}
        messages.success(request, f"{kept.name} is saved as an extractor, and chosen.")
    return form_page(request, CrawlForm(initial=answers, capacity=form.capacity), opens="reading")

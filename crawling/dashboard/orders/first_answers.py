"""The initial answers in the form for a new crawl."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.shortcuts import get_object_or_404

from allocation.wording import whole_number
from crawling.base.errors import BadOrder
from crawling.dashboard.orders.forms.create import as_answers
from crawling.dashboard.orders.forms.purposes import answers_for, read_purpose
from crawling.installation.identity import identity
from crawling.installation.permissions import require_act
from crawling.installation.pools import capacity_of, default_pool
from crawling.models import CrawlJob, OrderTemplate
from crawling.orders.sections.fetching import masked_names
from crawling.runs.crawls.creation import order_of
from crawling.runs.crawls.extractor_rules import named_rules
from crawling.runs.crawls.templates import crawl_of_template
from serving.access import AuthenticatedRequest


def initial_answers(request: AuthenticatedRequest) -> dict[str, Any]:
    """The initial contents of the form: those of another crawl, of a template, or the usual
    ones.
    """
    purpose = read_purpose(request.GET.get("for", ""))
    answers = {"product_token": identity().product_token, **answers_for(purpose)}
    if clone := request.GET.get("clone", ""):
        crawl = get_object_or_404(CrawlJob, pk=whole_number(clone) or 0)
        require_act(request.user, crawl)
        if left_out := masked_names(order_of(crawl)):
            told = f"The secrets of {crawl.name} are not copied: {', '.join(left_out)}."
            messages.info(request, told)
        return {**answers, **as_answers(crawl, capacity_of(default_pool()))}
    if template := request.GET.get("template", ""):
        try:
            like = crawl_of_template(
                get_object_or_404(OrderTemplate, pk=whole_number(template) or 0)
            )
        except BadOrder as error:
            messages.error(
                request,
                "This template says what no order says any more, so that it cannot be used: "
                f"{error}.",
            )
        else:
            return {**answers, **as_answers(like, capacity_of(default_pool()))}
    if found := named_rules(request.GET.get("extractor", "")):
        return {**answers, "extractor": found.reference}
    return answers

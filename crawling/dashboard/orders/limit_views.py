"""The page that raises the limit at which a crawl's run has ended, and resumes the run."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from crawling.base.errors import BadOrder, WrongState
from crawling.dashboard.base.trouble import errors_told
from crawling.dashboard.base.undo import show_message
from crawling.dashboard.orders.forms.create import ASKED
from crawling.dashboard.orders.forms.fields import OrderForm, fill_in
from crawling.models import CrawlJob
from crawling.runs.crawls.revisions import edit_crawl
from crawling.runs.steering import blocking_limit, resume
from serving.access import AuthenticatedRequest, authenticated


@authenticated(needs="crawling.change_crawljob", methods=("GET", "HEAD", "POST"))
def raise_limit(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Ask for the new limit, and offer twice what the run has. Once it is given, save it and resume
    the run.
    """
    crawl = get_object_or_404(CrawlJob, pk=pk)
    reached = blocking_limit(crawl)
    if reached is None:
        return render(request, "crawling/raise_limit.html", {"crawl": crawl})
    asked = [one for one in ASKED if one.name == reached.field]
    unit = asked[0].question.unit
    size = unit.size if unit else 1
    offered = -(-2 * reached.reached // size) * size
    form = OrderForm(
        request.POST or None, asked=asked, initial=fill_in(asked, {reached.field: offered})
    )
    if form.is_valid():
        changes = {one.name: one.default for one in asked} | form.order_answers()
        try:
            # a new limit that the run has reached, too, is told, and asked for again
            with errors_told(request, WrongState):
                resume(edit_crawl(crawl, changes, by=request.user), by=request.user)
                show_message(request, f"{crawl.name} continues up to the new limit.")
                return redirect("crawling:crawl", pk)
            return redirect("crawling:raise-limit", pk)
        except BadOrder as error:
            form.blame(error.errors)
    here = {"crawl": crawl, "form": form, "reached": reached}
    return render(request, "crawling/raise_limit.html", here, status=422 if form.errors else 200)

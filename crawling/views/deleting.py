"""The page that deletes a crawl: it says what is lost and wants the name typed."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from crawling.errors import WrongState
from crawling.models import CrawlJob
from crawling.selectors import crawl_view
from crawling.services.deleting import delete_crawl
from crawling.services.steering import possible


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@permission_required("crawling.delete_crawljob", raise_exception=True)
def delete(request: HttpRequest, crawl: int) -> HttpResponse:
    """Ask, then delete."""
    assert isinstance(request.user, User)
    job = get_object_or_404(CrawlJob, pk=crawl)
    typed, error = request.POST.get("name", ""), ""
    if request.method == "POST":
        if typed.strip() != job.name:
            error = "This is not its name; type it as it stands above, capital letters included."
        else:
            try:
                delete_crawl(job, by=request.user)
            except WrongState as trouble:
                error = str(trouble)
            else:
                messages.success(request, f"{job.name} is deleted.")
                return redirect("crawling:crawls")
    view = crawl_view(job)
    facts = {"crawl": view, "runs": job.runs.count(), "is_over": "start" in possible(view.state), "typed": typed, "error": error}
    return render(request, "crawling/delete.html", facts)

"""The experiments pages: how often requests lock each other, with and without the Banker's
algorithm.
"""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter

from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import path
from django.utils import timezone

from crawling.base.errors import CrawlError
from crawling.dashboard.base.requests import latest_asked
from crawling.dashboard.base.trouble import errors_told
from crawling.installation.permissions import may_end
from crawling.jobs.cancel import cancel_job
from experiments.crawl_workload import WORKERS
from experiments.figure import WaitingFigure, waiting_figure
from experiments.form import ExperimentForm, policies_in_words, start_experiment
from experiments.models import Experiment
from experiments.report import (
    ExperimentView,
    FirstTries,
    PolicyResult,
    RequestResult,
    experiment_views,
    first_attempts,
    listed_experiments,
    request_results,
)
from experiments.tables import ERRATA, PAPER_RATIO, PAPER_ROWS, WAITS_DEPEND
from serving.access import AuthenticatedRequest, authenticated, needs
from serving.downloads import cell_file, send
from serving.requests import render_live

A_PAGE = 20
#: rows of table 1 and of table 2
REQUESTS = 25
#: the columns of an attempt in a file
TRIED = (
    "policy",
    "round",
    "number",
    "attempt",
    "started_at",
    "ended_at",
    "waited_seconds",
    "deciding_seconds",
    "unsafe_grants",
    "outcome",
    "deadlocked",
    "pages",
    "detail",
)


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD", "POST"))
def experiments(request: AuthenticatedRequest) -> HttpResponse:
    if request.method == "POST":
        return _start(request)
    return _list_page(request, ExperimentForm())


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD"))
def experiment(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Tables 1, 2 and 3, figure 3, and their meaning; tables 1 and 2 have the requests of
    `?page=`.
    """
    found = get_object_or_404(listed_experiments(), pk=pk)
    (view,), tries = experiment_views([found]), first_attempts(found)
    context = {
        "view": view,
        "may_cancel": may_end(request.user, found.job.by),
        "choice": policies_in_words(found.policies),
        "tables": _request_tables(view, tries, request.GET.get("page")),
        "figure": _waiting_figure(view, tries),
        "paper": PAPER_ROWS,
        "paper_ratio": PAPER_RATIO,
        "errata": ERRATA,
        "workers": WORKERS,
        "claim": WAITS_DEPEND,
    }
    return render_live(
        request, "experiments/experiment.html", "experiments/_experiment.html", context
    )


@needs("crawling.add_crawljob")
def _start(request: AuthenticatedRequest) -> HttpResponse:
    form = ExperimentForm(request.POST)
    if not form.is_valid():
        return _list_page(request, form, status=422)
    with errors_told(request, CrawlError):
        return redirect(start_experiment(by=request.user, **form.cleaned_data))
    return redirect("experiments:experiments")


@authenticated(needs="crawling.add_crawljob", methods=("POST",))
def cancel(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(Experiment, pk=pk)
    with errors_told(request, CrawlError):
        cancel_job(found.job, by=request.user)
    return redirect(found)


@authenticated(needs="crawling.view_crawljob")
def attempts_csv(request: AuthenticatedRequest, pk: int) -> HttpResponseBase:
    """Every attempt of an experiment, from which figure 3 is drawn."""
    tries = get_object_or_404(Experiment, pk=pk).tries.values_list(*TRIED)
    return send(cell_file(f"experiment-{pk}", TRIED, tries))


def _list_page(request: HttpRequest, form: ExperimentForm, status: int = 200) -> HttpResponse:
    found = listed_experiments()
    context = {**latest_asked(request, found, A_PAGE), "form": form}
    context["views"] = experiment_views(context["rows"])
    return render_live(
        request, "experiments/experiments.html", "experiments/_experiments.html", context, status
    )


def _request_tables(
    view: ExperimentView, tries: FirstTries, shown: str | None
) -> list[tuple[str, PolicyResult, Page[int], tuple[RequestResult, ...]]]:
    """For each policy, the anchor of its table, and a page of its requests: their numbers, and the
    requests.
    """
    pages = {
        column.policy: Paginator(
            [one.number for one in tries.get(column.policy, ())], REQUESTS
        ).get_page(shown)
        for column in view.columns
    }
    results = request_results(
        view.experiment, {number for page in pages.values() for number in page}
    )
    return [
        (
            f"table-{one.table}",
            one,
            pages[one.policy],
            tuple(row for row in results.get(one.policy, ()) if row.number in pages[one.policy]),
        )
        for one in view.columns
    ]


def _waiting_figure(view: ExperimentView, tries: FirstTries) -> WaitingFigure | None:
    """Figure 3, from the first request on; None before that."""
    if not tries:
        return None
    began = min(one.started_at for found in tries.values() for one in found)
    series = {
        column.policy.label: [
            [
                ((one.started_at - began).total_seconds(), one.waited_seconds, one.is_over)
                for one in found
            ]
            for _, found in groupby(tries[column.policy], key=attrgetter("round"))
        ]
        for column in view.columns
        if column.policy in tries
    }
    bound = view.experiment.bound_seconds
    return waiting_figure(series, bound_seconds=bound, began=timezone.localtime(began))


app_name = "experiments"
urlpatterns = [
    path("", experiments, name="experiments"),
    path("<int:pk>/tries.csv", attempts_csv, name="numbers"),
    path("<int:pk>/cancel/", cancel, name="cancel"),
    path("<int:pk>/", experiment, name="experiment"),
]

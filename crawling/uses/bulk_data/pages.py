"""The page with all data of a run as files, and the files themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import path, re_path
from redis.exceptions import RedisError

from crawling.base.errors import ArchiveTrouble, NotFound, WrongState
from crawling.dashboard.base.panels import Link, Place, page_of_run
from crawling.dashboard.base.requests import address_of, of_run
from crawling.dashboard.base.run_pages import ask_by_button
from crawling.dashboard.base.trouble import errors_told
from crawling.datasets.parts import MOST_BEHIND
from crawling.datasets.query import LinkSearchTookTooLong
from crawling.models import Run
from crawling.uses.bulk_data.files import bulk_file
from crawling.uses.bulk_data.offers import WORDS, offer_of, offers_of, request_file
from crawling.uses.bulk_data.requested_files import BulkFile, files_named, requested_files
from crawling.uses.bulk_data.tables import BY_NAME
from serving.access import AuthenticatedRequest
from serving.download_outcomes import DownloadOutcome, forget_outcome, tell_outcome
from serving.downloads import ENDINGS, send
from serving.requests import render_live

#: the reason why a crawl that was never started has no data
HAS_NO_PAGES = "it has no data yet"


@of_run(HAS_NO_PAGES, methods=("GET", "HEAD", "POST"))
def bulk_data_page(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    """Show all data of a run as files. A POST orders files; jobs make the files that need one.
    `?then=` begins to load each file once it is there.
    """
    if request.method == "POST":
        return _request_files(request, run)
    offers = offers_of(run)
    ordered = requested_files(request, run, offers)
    left = [one for one in ordered if one.outcome != DownloadOutcome.SENT]
    here: dict[str, Any] = {
        "crawl": run.crawl,
        "run": run,
        "offers": offers,
        "ordered": ordered,
        "left": ",".join(one.file.name for one in left),
        "next": next((one for one in left if one.is_due), None),
        "endings": ENDINGS,
        "with_mark": request.GET.get("mark") == "1",
        "most_behind": MOST_BEHIND,
        "is_open": any(one.job and one.job.is_open for one in offers)
        or any(one.changing for one in ordered),
    }
    page, fragment = "bulk_data/download.html", "bulk_data/_files.html"
    return render_live(request, page, fragment, here, depends_on_user=True)


def _request_files(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    """Request a job for each chosen file that needs one, and redirect to the page that loads the
    files. A file in the form's field `file` is always made. Files in the address (`file`, or `data`
    in the format `format`) are made only if they cannot be sent at once or have older data.
    """
    anew, ending = request.POST.getlist("file"), request.POST.get("format", "")
    kinds = [f"{name}.{ending}" for name in request.POST.getlist("data")]
    files = files_named([*anew, *request.GET.getlist("file"), *kinds])
    place = address_of("crawling:download", run)
    place += "&mark=1" if request.POST.get("mark") == "1" else ""
    if not files:
        unknown = "That is no file of a run."
        messages.error(request, unknown if files is None else "Tick the data to download.")
        return redirect(place)
    jobs = list[str]()

    def request_missing_files() -> None:
        for file in files:
            offer = offer_of(run, file.table)
            if offer.changed_by and offer.changed_by.is_open:
                jobs.append(str(offer.changed_by.pk))
            if file.name in anew or offer.has_to_be_made(file.ending):
                jobs.append(str(request_file(run, file.table, by=request.user).pk))

    def address_with_requests() -> str:
        made_by = f"&jobs={','.join(jobs)}" if jobs else ""
        return f"{place}&then={','.join(file.name for file in files)}{made_by}"

    answer = ask_by_button(
        request, request_missing_files, RedisError, WrongState, then=address_with_requests
    )
    for file in files:
        forget_outcome(answer, file.outcome_name(run), page=place.partition("?")[0])
    return answer


@of_run(HAS_NO_PAGES)
def send_bulk_file(
    request: AuthenticatedRequest, run: Run, data: str, kind: str
) -> HttpResponseBase:
    wanted = BulkFile(BY_NAME[data], kind)
    if kind not in (*ENDINGS, *wanted.table.other_endings):
        raise Http404(f"There is no {kind} of {wanted.table.label.lower()}.")
    place, with_mark = address_of("crawling:download", run), request.GET.get("mark") == "1"
    answer: HttpResponseBase = redirect(place)
    outcome = DownloadOutcome.FAILED
    with errors_told(request, NotFound, ArchiveTrouble, LinkSearchTookTooLong):
        answer = send(bulk_file(run, wanted.table, kind, with_mark=with_mark))
        outcome = DownloadOutcome.SENT
    tell_outcome(answer, outcome, wanted.outcome_name(run), page=place.partition("?")[0])
    return answer


urlpatterns = [
    path("<int:pk>/download/", bulk_data_page, name="download"),
    re_path(
        rf"^(?P<pk>[0-9]{{1,18}})/download/(?P<data>{'|'.join(BY_NAME)})"
        rf"\.(?P<kind>{'|'.join(WORDS)})$",
        send_bulk_file,
        name="download-file",
    ),
]


def _link_to_downloads(*files: str, fields: bool = False) -> Callable[[Run | None, int], str]:
    """Return a function that returns the address at which these files are requested. fields:
    whether the files are those of extracted fields; then "" for crawls whose orders extract
    nothing.
    """

    def address_of_download(run: Run | None, crawl: int) -> str:
        if run is None or (fields and not (run.crawl.extract or run.crawl.extractor)):
            return ""
        return address_of("crawling:download", run) + "".join(f"&file={name}" for name in files)

    return address_of_download


MAY_ORDER = "crawling.change_crawljob"
LINKS = (
    Link(Place.DOWNLOADS, "All data", page_of_run("crawling:download")),
    Link(
        Place.DOWNLOADS,
        "Text and tables",
        _link_to_downloads("text.csv", "tables.csv"),
        needs=MAY_ORDER,
        is_order=True,
        order=2,
    ),
    Link(
        Place.DOWNLOADS,
        "Extracted fields",
        _link_to_downloads("fields.csv", fields=True),
        needs=MAY_ORDER,
        is_order=True,
        order=3,
    ),
)

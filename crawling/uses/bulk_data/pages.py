"""The page with all data of a run as files, and the files themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

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
from crawling.uses.bulk_data.bulk_table import BulkTable
from crawling.uses.bulk_data.files import bulk_file
from crawling.uses.bulk_data.offers import (
    WORDS,
    BulkData,
    offer_of,
    offers_of,
    request_file,
)
from crawling.uses.bulk_data.tables import BY_NAME
from serving.access import AuthenticatedRequest
from serving.downloads import ENDINGS, send
from serving.requests import render_live

#: the reason why a crawl that was never started has no data
HAS_NO_PAGES = "it has no data yet"


@of_run(HAS_NO_PAGES, methods=("GET", "HEAD", "POST"))
def show(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    """All data of a run; a POST orders files, of which jobs make those that need one, and `?then=`
    begins to load each once it is there.
    """
    if request.method == "POST":
        return _order(request, run)
    offers = offers_of(run)
    ordered = _ordered(_read(request.GET.get("then", "").split(",")) or (), offers)
    here: dict[str, Any] = {
        "crawl": run.crawl,
        "run": run,
        "offers": offers,
        "ordered": ordered,
        "left": ",".join(one.file.name for one in ordered if not one.is_ready),
        "endings": ENDINGS,
        "with_mark": request.GET.get("mark") == "1",
        "most_behind": MOST_BEHIND,
        "is_open": any(one.job and one.job.is_open for one in offers),
    }
    return render_live(request, "bulk_data/download.html", "bulk_data/_files.html", here)


class BulkFile(NamedTuple):
    table: BulkTable
    ending: str

    @property
    def name(self) -> str:
        return f"{self.table.name}.{self.ending}"


class RequestedFile(NamedTuple):
    """A file that a user waits for."""

    file: BulkFile
    offer: BulkData

    @property
    def is_ready(self) -> bool:
        waits = self.is_coming and self.offer.comes_from_job(self.file.ending)
        return self.offer.is_ready(self.file.ending) and not waits

    @property
    def is_coming(self) -> bool:
        return self.offer.job is not None and self.offer.job.is_open

    @property
    def size(self) -> int | None:
        """In bytes; of CSV about, None if it is not known."""
        if self.file.ending == "parquet":
            return self.offer.made.counts["bytes"] if self.offer.made else None
        return self.offer.bytes if self.file.ending == "csv" else None


def _read(names: Iterable[str]) -> list[BulkFile] | None:
    """Files by their names, each once; None if one is no file of a run."""
    files = list[BulkFile]()
    for name in dict.fromkeys(names):
        stem, _, ending = name.partition(".")
        table = BY_NAME.get(stem)
        if table is None or ending not in (*ENDINGS, *table.other_endings):
            return None
        files.append(BulkFile(table, ending))
    return files


def _ordered(files: Iterable[BulkFile], offers: Iterable[BulkData]) -> list[RequestedFile]:
    by_name = {one.table.name: one for one in offers}
    return [RequestedFile(file, by_name[file.table.name]) for file in files]


def _order(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    """Names of files: `file` of the form is made in any case; `file` of the address, and the kinds
    of data `data` as `format`, if they are not sent at once or have other data by now.
    """
    anew, ending = request.POST.getlist("file"), request.POST.get("format", "")
    kinds = [f"{name}.{ending}" for name in request.POST.getlist("data")]
    files = _read([*anew, *request.GET.getlist("file"), *kinds])
    then = address_of("crawling:download", run)
    then += "&mark=1" if request.POST.get("mark") == "1" else ""
    if not files:
        unknown = "That is no file of a run."
        messages.error(request, unknown if files is None else "Tick the data to download.")
        return redirect(then)
    then += f"&then={','.join(file.name for file in files)}"

    def ask() -> None:
        for file in files:
            if file.name in anew or offer_of(run, file.table).has_to_be_made(file.ending):
                request_file(run, file.table, by=request.user)

    return ask_by_button(request, ask, RedisError, WrongState, then=then)


@of_run(HAS_NO_PAGES)
def file(request: AuthenticatedRequest, run: Run, data: str, kind: str) -> HttpResponseBase:
    table = BY_NAME[data]
    if kind not in (*ENDINGS, *table.other_endings):
        raise Http404(f"There is no {kind} of {table.label.lower()}.")
    with errors_told(request, NotFound, ArchiveTrouble, LinkSearchTookTooLong):
        return send(bulk_file(run, table, kind, with_mark=request.GET.get("mark") == "1"))
    return redirect(address_of("crawling:download", run))


urlpatterns = [
    path("<int:pk>/download/", show, name="download"),
    re_path(
        rf"^(?P<pk>[0-9]{{1,18}})/download/(?P<data>{'|'.join(BY_NAME)})"
        rf"\.(?P<kind>{'|'.join(WORDS)})$",
        file,
        name="download-file",
    ),
]


def _order_of(*files: str, fields: bool = False) -> Callable[[Run | None, int], str]:
    """The address of an order of files; fields: only where an order says what is extracted."""

    def address(run: Run | None, crawl: int) -> str:
        if run is None or (fields and not (run.crawl.extract or run.crawl.extractor)):
            return ""
        return address_of("crawling:download", run) + "".join(f"&file={name}" for name in files)

    return address


MAY_ORDER = "crawling.change_crawljob"
LINKS = (
    Link(Place.DOWNLOADS, "All data", page_of_run("crawling:download")),
    Link(
        Place.DOWNLOADS,
        "Text and tables",
        _order_of("text.csv", "tables.csv"),
        needs=MAY_ORDER,
        is_order=True,
        order=2,
    ),
    Link(
        Place.DOWNLOADS,
        "Extracted fields",
        _order_of("fields.csv", fields=True),
        needs=MAY_ORDER,
        is_order=True,
        order=3,
    ),
)

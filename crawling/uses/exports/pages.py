"""The page about an export (the WACZ file or mirror of a run, or the mirror of a crawl's latest
pages): its state, a button that requests the file, and the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import path, reverse

from crawling.archive.packages.reading import read_package
from crawling.base.errors import ArchiveTrouble
from crawling.dashboard.base.panels import Link, Panel, Place
from crawling.dashboard.base.requests import (
    asked_number,
    next_page,
    page_to_return_to,
    wanted_page,
    wanted_run,
)
from crawling.dashboard.base.run_pages import ask_by_button
from crawling.dashboard.base.trouble import errors_told
from crawling.jobs.enqueue import jobs_of
from crawling.jobs.kinds import JobKind
from crawling.models import Page, Run
from crawling.models.jobs import ENDED_STATES
from crawling.uses.exports.jobs import LATEST_MIRROR, MIRROR, WACZ
from crawling.uses.exports.player import PERMISSION as INSTALL
from crawling.uses.exports.player import install_player, is_installed, player_state
from crawling.uses.exports.state import (
    ExportState,
    readable_export,
    request_export,
    state_of,
)
from crawling.uses.exports.wacz.access import PERMISSION, ticket_for
from crawling.uses.exports.wacz.origins import player_address, player_obstacle
from serving.access import AuthenticatedRequest, authenticated, require
from serving.download_outcomes import (
    PREFIX,
    DownloadOutcome,
    forget_outcome,
    outcome_of,
    tell_outcome,
)
from serving.downloads import Download, send
from serving.requests import render_live

#: the media type of the file of each kind
TYPES = {
    "wacz": "application/wacz",
    "mirror": "application/zip",
    "latest-mirror": "application/zip",
}
#: the reason why a crawl that was never started has no exports
HAS_NOTHING = "nothing of it is archived"
NOT_MADE = "ReplayWeb.page reads the WACZ file of the run; make it first."


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD", "POST"))
def show(request: AuthenticatedRequest, pk: int, export: JobKind) -> HttpResponse:
    """Show the state of an export. A POST requests it. With `?load=1` the file loads automatically
    once it is there, and an existing file that is up to date is not made again.
    """
    run = _run(request, pk, export)
    place, is_order = address_of(run, export), request.GET.get("load") == "1"
    if request.method == "POST":
        return _order(request, run, export, place) if is_order else _create(request, run, export)
    state, outcome = state_of(run, export), outcome_of(request, _outcome_name(run, export))
    loads = is_order and state.is_wanted(request.GET.get("jobs", ""))
    here = {
        "crawl": run.crawl,
        "run": run,
        "export": state,
        "place": place,
        "then": request.get_full_path() if is_order else place,
        "loads": loads,
        "is_order": is_order,
        "outcome": outcome,
        "is_due": loads and outcome not in (DownloadOutcome.SENT, DownloadOutcome.FAILED),
        "cookie": PREFIX + _outcome_name(run, export),
        "file_place": address_of(run, export, of="-file"),
    }
    if export.name == "wacz":
        here["no_replay"] = player_obstacle(request)
    page = f"exports/{export.name.replace('-', '_')}.html"
    return render_live(request, page, "exports/_export.html", here, depends_on_user=True)


def _create(request: AuthenticatedRequest, run: Run, export: JobKind) -> HttpResponse:
    ask = partial(request_export, run, export, by=request.user)
    return ask_by_button(request, ask, ArchiveTrouble, then=address_of(run, export))


def _order(request: AuthenticatedRequest, run: Run, export: JobKind, place: str) -> HttpResponse:
    """Request the file, unless an up-to-date file is there."""
    jobs = list[str]()

    def ask() -> None:
        if not state_of(run, export).is_current:
            jobs.append(f"&jobs={request_export(run, export, by=request.user).pk}")

    def then() -> str:
        return f"{place}{'&' if '?' in place else '?'}load=1{''.join(jobs)}"

    answer = ask_by_button(request, ask, ArchiveTrouble, then=then)
    forget_outcome(answer, _outcome_name(run, export), page=place.partition("?")[0])
    return answer


def _outcome_name(run: Run, export: JobKind) -> str:
    """The name under which the page stores the outcome of the download."""
    return export.name if export.is_of_crawl else f"{run.number}-{export.name}"


def _run(request: AuthenticatedRequest, pk: int, export: JobKind) -> Run:
    """The requested run, or the latest for an export of the whole crawl."""
    run = wanted_run(request, pk, HAS_NOTHING)
    return (run.crawl.runs.first() or run) if export.is_of_crawl else run


@authenticated(needs="crawling.change_crawljob")
def file(request: AuthenticatedRequest, pk: int, export: JobKind) -> HttpResponseBase:
    run = _run(request, pk, export)
    place = address_of(run, export)
    answer: HttpResponseBase = redirect(place)
    outcome = DownloadOutcome.FAILED
    with errors_told(request, ArchiveTrouble):
        answer = send(export_file(state_of(run, export)))
        outcome = DownloadOutcome.SENT
    tell_outcome(answer, outcome, _outcome_name(run, export), page=place.partition("?")[0])
    return answer


def export_file(state: ExportState) -> Download:
    """The file of an export. Raises ArchiveTrouble if there is none."""
    file = state.file
    if file is None:
        whose = "crawl" if state.kind.is_of_crawl else "run"
        missing = f"The {state.kind.label} of this {whose} is not created yet."
        raise ArchiveTrouble(state.trouble or missing)
    return Download(
        state.name, TYPES[state.kind.name], read_package(file, 0, file.bytes), file.bytes
    )


def address_of(run: Run, export: JobKind, *, of: str = "") -> str:
    """The address of the page about an export of a run; of its file with of="-file"."""
    address = reverse(f"crawling:{export.name}{of}", args=[run.crawl_id])
    return address if export.is_of_crawl else f"{address}?run={run.number}"


@authenticated(needs=PERMISSION)
def replay(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Redirect to ReplayWeb.page with the run, or with the page `?page=` at the time of its
    capture.
    """
    number = asked_number(request, "page")
    page = wanted_page(pk, number) if number else None
    run = page.run if page else wanted_run(request, pk, HAS_NOTHING)
    file, trouble = state_of(run, WACZ).file, player_obstacle(request)
    if file is None or trouble:
        messages.error(request, trouble or NOT_MADE)
        return redirect(address_of(run, WACZ))
    return redirect(player_address(run, ticket_for(request.user, file), page))


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD", "POST"))
def player(request: AuthenticatedRequest) -> HttpResponse:
    """Show the state of ReplayWeb.page on this server, with a link back to `?next=`. A POST
    requests its installation.
    """
    if request.method == "POST":
        require(request.user, INSTALL)
        install_player(request.user)
        return redirect(next_page(request) or "crawling:player")
    here = {"player": player_state(request.user), "may_install": request.user.has_perm(INSTALL)}
    here["back"] = page_to_return_to(request)
    return render_live(request, "exports/player.html", "exports/_player.html", here)


urlpatterns = [
    path("replay/", player, name="player"),
    path("<int:pk>/wacz/", show, {"export": WACZ}, name="wacz"),
    path("<int:pk>/replay/", replay, name="replay"),
    path("<int:pk>/run.wacz", file, {"export": WACZ}, name="wacz-file"),
    path("<int:pk>/mirror/", show, {"export": MIRROR}, name="mirror"),
    path("<int:pk>/mirror.zip", file, {"export": MIRROR}, name="mirror-file"),
    path(
        "<int:pk>/latest-mirror/",
        show,
        {"export": LATEST_MIRROR},
        name="latest-mirror",
    ),
    path(
        "<int:pk>/latest-mirror.zip",
        file,
        {"export": LATEST_MIRROR},
        name="latest-mirror-file",
    ),
]


def _address_of_export(route: str, more: str = "") -> Callable[[Run | None, int], str]:
    """Return a function that returns the address of an export; "" for crawls without an archive."""

    def address(run: Run | None, crawl: int) -> str:
        if run is None or not run.crawl.archive:
            return ""
        return f"{reverse(route, args=[crawl])}?run={run.number}{more}"

    return address


LINKS = (
    Link(
        Place.ARCHIVE_DOWNLOADS,
        "Archive (WACZ)",
        _address_of_export("crawling:wacz", "&load=1"),
        needs=PERMISSION,
        is_order=True,
    ),
    Link(Place.ARCHIVE_DOWNLOADS, "WACZ file and replay", _address_of_export("crawling:wacz")),
    Link(Place.ARCHIVE_DOWNLOADS, "Mirror", _address_of_export("crawling:mirror")),
)


def _replay_panel(page: Page) -> Mapping[str, Any] | None:
    if page.archive_file_id is None:
        return None
    file = readable_export(page.run, WACZ) if is_installed() else None
    return {"has_player": is_installed(), "has_wacz": file is not None}


def _replay_file(run: Run) -> Mapping[str, Any] | None:
    """The latest job for the WACZ file of an ended run. The page about the file shows more."""
    if run.state not in ENDED_STATES or not run.crawl.archive:
        return None
    return {"replay_job": jobs_of(WACZ, run).first(), "has_player": is_installed()}


PANELS = (
    Panel(Place.PAGE_BUTTONS, "exports/_replay.html", _replay_panel),
    Panel(Place.CRAWL, "exports/_run_replay.html", _replay_file),
)

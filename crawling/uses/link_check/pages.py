"""The pages about the links of a run: their problems, the links of a page and to it, media, hosts,
and the differences from another run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.urls import path

from crawling.base.errors import BadOrder
from crawling.dashboard.base.columns import ListPlace, column_head
from crawling.dashboard.base.lags import marked_download, read_lag
from crawling.dashboard.base.panels import Link, Panel, Place, ReportFile, ReportPage, Tab
from crawling.dashboard.base.requests import address_of, asked_number, of_run
from crawling.dashboard.base.run_pages import file_route
from crawling.datasets.lag import Derived
from crawling.datasets.query import LinkSearchTookTooLong
from crawling.models import Run
from crawling.models.jobs import ENDED_STATES
from crawling.uses.link_check.coverage import coverage_of, coverages_of
from crawling.uses.link_check.fixes import fix_rows
from crawling.uses.link_check.link_changes import (
    CHANGE_COLUMNS,
    all_link_changes,
    list_link_changes,
)
from crawling.uses.link_check.link_check import (
    SLOW_SECONDS,
    ProblemChange,
    TooManyProblems,
    incomplete_kinds,
    junit_lines,
    list_changed_problems,
    list_problems,
    problem_rows,
)
from crawling.uses.link_check.list_orders import HostSort, LinkSort, MediaSort, TooManyMedia
from crawling.uses.link_check.page_problems import SOON
from crawling.uses.link_check.problem_counts import (
    ProblemCount,
    counts_of,
    kinds_by_severity,
    missing_counts,
)
from crawling.uses.link_check.problem_kinds import ProblemKind, Severity
from crawling.uses.link_check.reports import (
    LINK_TYPES,
    MEDIA_TYPES,
    count_hosts,
    count_links,
    count_media,
    list_hosts,
    list_links,
    list_media,
)
from crawling.uses.link_check.shared_parts import (
    FIX_COLUMNS,
    fixes_stem,
    problem_counts,
    problems_of_kind,
    shared_file,
    shared_fix_facts,
    shared_fixes,
)
from crawling.uses.link_check.sorted_problems import (
    ProblemSort,
    TooManyToSort,
    list_sorted_problems,
)
from crawling.uses.link_check.trend import MOST_RUNS, trend_bars, trend_of
from serving.access import AuthenticatedRequest
from serving.downloads import Download, row_file, send
from serving.list_choices import choices_of

#: the reason why a crawl that was never started has no links
NEVER_STARTED = "it has no links"
ROWS = 50
#: the number of runs to choose from
RUNS = 50
#: the number of added links, and of removed links, that the page of changes shows for each page;
#: files have all of them
LINKS_SHOWN = 20
#: name and words of each list
LISTS = {
    "check": "",
    "all": "All links",
    "media": "Media",
    "hosts": "Linked hosts",
}
#: words for the changes in a later run
CHANGES = {ProblemChange.NEW: "New", ProblemChange.MENDED: "Fixed"}
#: the types to which a list may be restricted, with words
TYPES = {
    "all": {name: words for name, (words, _) in LINK_TYPES.items()},
    "media": {name: LINK_TYPES[name][0] for name in MEDIA_TYPES},
}
#: the orders of each list, with the columns by which it is sorted
SORTED: Mapping[str, tuple[type[StrEnum], Mapping[str, str]]] = {
    "check": (ProblemSort, {"address": "Address", "problem": "Problem", "links": "Links"}),
    "all": (LinkSort, {"page": "Page", "target": "Target", "text": "Text"}),
    "media": (
        MediaSort,
        {"address": "Address", "pages": "Pages", "without_text": "Without text"},
    ),
    "hosts": (HostSort, {"host": "Host", "links": "Links"}),
}
#: the usual order of lists that always have one
USUAL: Mapping[str, StrEnum] = {"media": MediaSort.ADDRESS, "hosts": HostSort.HOST}
#: sorts in descending order
NUMBERS = ("links", "pages", "without_text")
#: the formats of the files of problems
ENDINGS = {"csv": "CSV", "jsonl": "JSON Lines", "xml": "JUnit"}


@of_run(NEVER_STARTED)
def link_check_page(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    """Show the list `?show=`, or with `?page=`, `?target=` or `?host=` the links of a page, to a
    URL or to a host.
    """
    asked = {name: request.GET.get(name, "")[:5000] for name in ("page", "target", "host")}
    shown = "all" if any(asked.values()) else request.GET.get("show", "")
    shown, kind = shown if shown in LISTS else "check", _requested_kind(request, _worst_kind(run))
    here: dict[str, Any] = {
        "crawl": run.crawl,
        "run": run,
        "shown": shown,
        "title": LISTS[shown] or kind.label,
        "source": asked["page"],
        "target": asked["target"],
        "host": asked["host"],
        "lag": read_lag(run, kind.derived if shown == "check" else Derived.LINKS),
        "after": request.GET.get("after", ""),
        "kind": kind,
        "types": TYPES.get(shown, {}),
        "type": _requested_type(request, shown),
        "slow_seconds": SLOW_SECONDS,
        "certificate_days": SOON.days,
        "endings": ENDINGS,
        **_trend_panel(run),
    }
    here |= _sorting_facts(request, shown)
    if shown == "check":
        here |= _comparison_facts(request, run)
        if kind is ProblemKind.BROKEN:
            here |= {"coverage": coverage_of(run)}
    try:
        rows, following = _rows_of_list(request, here, asked)
        count = _row_count(here, asked)
    except (BadOrder, LinkSearchTookTooLong, TooManyProblems, TooManyToSort, TooManyMedia) as told:
        return render(request, "link_check/links.html", {**here, "trouble": str(told)})
    here |= {"rows": rows, "following": following}
    number = (asked_number(request, "at") or 1) if here["after"] else 1
    here["next_page"] = number + 1
    if count is not None:
        first = (number - 1) * choices_of(request).most(ROWS) + 1
        here["place"] = ListPlace(number, first, len(rows), count)
    return render(request, "link_check/links.html", here)


def _sorting_facts(request: AuthenticatedRequest, shown: str) -> dict[str, Any]:
    """The requested order, and the heads for sorting."""
    sorts, columns = SORTED[shown]
    asked = request.GET.get("sort", "")
    sort = sorts(asked) if asked in list(sorts) else USUAL.get(shown)
    heads = {
        key: column_head(key, label, key in NUMBERS, now=sort or "", falls_first=key in NUMBERS)
        for key, label in columns.items()
    }
    return {"sort": sort, "columns": heads}


def _row_count(here: dict[str, Any], asked: dict[str, str]) -> int | None:
    """The number of rows in the list, perhaps a BoundedCount; None if unknown."""
    match here["shown"]:
        case "all":
            return count_links(here["run"], **asked, kind=here["type"])
        case "media":
            return count_media(here["run"], kind=here["type"])
        case "hosts":
            return count_hosts(here["run"])
    counted = None if here["change"] else counts_of(here["run"]).get(here["kind"])
    return counted.problems if counted else None


def _comparison_facts(request: AuthenticatedRequest, run: Run) -> dict[str, Any]:
    old, change = _run_before(request, run), _requested_change(request)
    if old is None or old.number > run.number:
        old = change = None
    here = {"old": old, "change": change, "changes": CHANGES}
    return here | ({"columns": {}} if change else {})  # lists of changes cannot be sorted


def _requested_type(request: AuthenticatedRequest, shown: str) -> str:
    asked = request.GET.get("type", "")
    return asked if asked in TYPES.get(shown, {}) else ""


def _requested_change(request: AuthenticatedRequest) -> ProblemChange | None:
    asked = request.GET.get("change", "")
    return ProblemChange(asked) if asked in list(ProblemChange) else None


def _rows_of_list(
    request: AuthenticatedRequest, here: dict[str, Any], asked: dict[str, str]
) -> tuple[list[Any], str | None]:
    run, most, after = here["run"], choices_of(request).most(ROWS), here["after"][:5000]
    match here["shown"]:
        case "check" if here["change"]:
            return list_changed_problems(
                here["old"], run, here["kind"], here["change"], after=after, most=most
            )
        case "check" if here["sort"]:
            return list_sorted_problems(run, here["kind"], here["sort"], after=after, most=most)
        case "check":
            return list_problems(run, here["kind"], after=after, most=most)
        case "all":
            return list_links(
                run, **asked, kind=here["type"], sort=here["sort"], after=after, most=most
            )
        case "media":
            return list_media(run, kind=here["type"], sort=here["sort"], after=after, most=most)
    return list_hosts(run, sort=here["sort"], after=after, most=most)


def _requested_kind(
    request: AuthenticatedRequest, usual: ProblemKind = ProblemKind.BROKEN
) -> ProblemKind:
    """The requested kind of problem. An invalid kind is ignored."""
    asked = request.GET.get("kind", "")
    return ProblemKind(asked) if asked in list(ProblemKind) else usual


def _worst_kind(run: Run) -> ProblemKind:
    """The first kind in the list that has errors; broken links if no kind has any."""
    found = kinds_by_severity(counts_of(run))
    errors = (one.kind for one in found if one.share and one.kind.severity is Severity.ERROR)
    return next(errors, ProblemKind.BROKEN)


@of_run(NEVER_STARTED)
def link_changes_page(request: AuthenticatedRequest, new: Run) -> HttpResponse:
    """Show the links that were added and removed in `?run=` (by default the latest) compared with
    `?against=` (by default the run before it), by page, after an address.
    """
    old, after = _run_before(request, new), request.GET.get("after", "")[:5000]
    here: dict[str, Any] = {"crawl": new.crawl, "new": new, "old": old, "after": after}
    here |= {"runs": new.crawl.runs.all()[:RUNS], "shown": LINKS_SHOWN}
    here |= {"lags": [(run, read_lag(run, Derived.LINKS)) for run in (new, old) if run]}
    if old:
        try:
            rows, following = list_link_changes(
                old, new, after=after, most=choices_of(request).most(ROWS)
            )
            here |= {"rows": rows, "following": following}
        except LinkSearchTookTooLong as trouble:
            here |= {"trouble": str(trouble)}
    return render(request, "link_check/link_changes.html", here)


@of_run(NEVER_STARTED)
def changes_file(request: AuthenticatedRequest, new: Run, kind: str) -> HttpResponseBase:
    old = _run_before(request, new)
    if old is None:
        raise Http404("There is no other run to compare with.")
    stem = f"crawl-{new.crawl_id}-run-{new.number}-against-{old.number}-links"
    file = row_file(stem, kind, all_link_changes(old, new), CHANGE_COLUMNS)
    return send(marked_download(marked_download(file, old, Derived.LINKS), new, Derived.LINKS))


def _run_before(request: AuthenticatedRequest, new: Run) -> Run | None:
    number = asked_number(request, "against")
    if number is not None:
        return get_object_or_404(new.crawl.runs, number=number)
    others = new.crawl.runs.exclude(pk=new.pk)
    return others.filter(number__lt=new.number).first() or others.first()


@of_run(NEVER_STARTED)
def problem_file(request: AuthenticatedRequest, run: Run, kind: str) -> HttpResponseBase:
    """Send a row for each problem and each link to it; with `?kind=` only problems of that kind."""
    kinds = [_requested_kind(request)] if "kind" in request.GET else list(ProblemKind)
    rows, stem = problem_rows(run, kinds), f"crawl-{run.crawl_id}-run-{run.number}-link-check"
    if kind == "xml":
        lines = junit_lines(kinds, rows, incomplete_kinds(run, kinds))
        file = Download(f"{stem}.xml", "application/xml", lines)
    else:
        file = row_file(stem, kind, rows)
    needs_reading = any(one.needs_reading for one in kinds)
    return send(marked_download(file, run, Derived.TEXTS if needs_reading else Derived.LINKS))


@of_run(NEVER_STARTED)
def fixes_page(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    here = {"crawl": run.crawl, "run": run, **shared_fix_facts(run)}
    return render(request, "link_check/fixes.html", here)


@of_run(NEVER_STARTED)
def fixes_file(request: AuthenticatedRequest, run: Run, kind: str) -> HttpResponseBase:
    file = row_file(fixes_stem(run), kind, fix_rows(run), FIX_COLUMNS)
    return send(marked_download(file, run, Derived.TEXTS))


def _missing_count_facts(run: Run, counts: Mapping[ProblemKind, ProblemCount]) -> dict[str, Any]:
    """The reason why numbers are missing, and how many are there."""
    return {"uncounted": missing_counts(run, counts), "counted": len(counts)}


@of_run(NEVER_STARTED)
def problem_counts_fragment(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    """Show why numbers are missing, for a page that has `?counted=` numbers, or have that page
    read again once there are more. It requests this again and again.
    """
    here = {"run": run, **_missing_count_facts(run, counts_of(run))}
    here["has_more"] = here["counted"] != asked_number(request, "counted") or not here["uncounted"]
    return render(request, "link_check/_uncounted.html", here)


urlpatterns = [
    path("<int:pk>/fixes/", fixes_page, name="fixes"),
    file_route("fixes", ("csv", "jsonl"), fixes_file),
    path("<int:pk>/links/", link_check_page, name="links"),
    path("<int:pk>/links/counted/", problem_counts_fragment, name="links-counted"),
    path("<int:pk>/link-changes/", link_changes_page, name="link-changes"),
    file_route("link-changes", ("csv", "jsonl"), changes_file),
    file_route("link-check", ENDINGS, problem_file),
]


def _trend_panel(run: Run) -> Mapping[str, Any]:
    """The trend of the crawl's latest runs; empty while no run has ended."""
    is_first = run.number == 1 and run.state not in ENDED_STATES
    rows = [] if is_first else list(trend_of(run.crawl)[:MOST_RUNS])
    coverages = coverages_of([row.run for row in rows])
    left = [coverages[row.run_id].unchecked for row in rows]
    return {"trend": [*zip(rows, left, strict=True)], "bars": trend_bars(rows)}


def _kinds_panel(run: Run) -> Mapping[str, Any]:
    """The kinds of problems. Kinds that the run does not have are listed separately."""
    counts = counts_of(run)
    found = kinds_by_severity(counts)
    clean = [
        one.kind
        for one in found
        if one.count and not one.share and one.kind is not ProblemKind.BROKEN
    ]
    return {
        "problem_kinds": [one for one in found if one.kind not in clean],
        "clean_kinds": clean,
        **_missing_count_facts(run, counts),
    }


def _address_of_list(name: str) -> Callable[[Run, int], str]:
    return lambda run, crawl: f"{address_of('crawling:links', run)}&show={name}"


TABS = (Tab("Links", "links", after="not-fetched"),)
LINKS = tuple(
    Link(Place.LINKS, words, _address_of_list(name)) for name, words in LISTS.items() if words
)
PANELS = (
    Panel(Place.CRAWL, "link_check/_trend.html", _trend_panel),
    Panel(Place.SHARED_REPORT, "link_check/_shared.html", problem_counts),
    Panel(Place.LINKS, "link_check/_kinds.html", _kinds_panel),
)
SHARED_PAGES = (
    ReportPage("kind", "link_check/shared_problems.html", problems_of_kind),
    ReportPage("fixes", "link_check/shared_fixes.html", shared_fixes),
)
SHARED_FILES = (ReportFile("fixes", shared_file),)

"""The links of a run: their problems, those of a page and to it, media, hosts, and what is
different in another run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.urls import path

from crawling.base.errors import BadOrder
from crawling.dashboard.base.columns import ColumnHead, column
from crawling.dashboard.base.lags import marked, read_lag
from crawling.dashboard.base.panels import Link, Panel, Place, ReportFile, ReportPage, Tab
from crawling.dashboard.base.requests import address_of, asked_number, of_run
from crawling.dashboard.base.run_pages import file_route
from crawling.dashboard.run.shared_report import without_user
from crawling.datasets.lag import Derived
from crawling.datasets.query import LinkSearchTookTooLong
from crawling.models import Run
from crawling.models.jobs import ENDED_STATES
from crawling.uses.link_check.fixes import LinkFix, PageFixes, fix_rows, fixes_by_page
from crawling.uses.link_check.link_changes import (
    CHANGE_COLUMNS,
    each_link_change,
    list_link_changes,
)
from crawling.uses.link_check.link_check import (
    SLOW_SECONDS,
    ProblemChange,
    TooManyProblems,
    junit_lines,
    list_changed,
    list_problems,
    missing_of,
    problem_rows,
)
from crawling.uses.link_check.models import BrokenLinks
from crawling.uses.link_check.page_problems import SOON
from crawling.uses.link_check.problem_counts import ProblemCount, counts_of, worst_first
from crawling.uses.link_check.problem_kinds import LinkProblem, ProblemKind
from crawling.uses.link_check.reports import (
    LINK_TYPES,
    MEDIA_TYPES,
    list_hosts,
    list_links,
    list_media,
)
from crawling.uses.link_check.sorted_problems import ProblemSort, TooManyToSort, list_sorted
from crawling.uses.link_check.trend import MOST_RUNS, trend_bars, trend_of
from serving.access import AuthenticatedRequest
from serving.downloads import Download, row_file, send
from serving.list_choices import choices_of

#: why a crawl that was never started has nothing here
NEVER_STARTED = "it has no links"
ROWS = 50
#: runs to choose from
RUNS = 50
#: links of a page and direction on the page of changes; files have all
LINKS_SHOWN = 20
#: name and words of each list
LISTS = {
    "check": "",
    "all": "All links",
    "media": "Media",
    "hosts": "Linked hosts",
}
FIX_COLUMNS = tuple(LinkFix.__dataclass_fields__)
#: words for what is different in a later run
CHANGES = {ProblemChange.NEW: "New", ProblemChange.MENDED: "Fixed"}
#: the types to which a list may be narrowed, with words
TYPES = {
    "all": {name: words for name, (words, _) in LINK_TYPES.items()},
    "media": {name: LINK_TYPES[name][0] for name in MEDIA_TYPES},
}
#: columns that problems may be sorted by
SORTED = {"address": "Address", "problem": "Problem", "links": "Links"}
#: the formats of the files of problems
ENDINGS = {"csv": "CSV", "jsonl": "JSON Lines", "xml": "JUnit"}


@of_run(NEVER_STARTED)
def show(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    """The list `?show=`, and with `?page=`, `?target=` or `?host=` the links of a page, to a URL or
    to a host.
    """
    asked = {name: request.GET.get(name, "")[:5000] for name in ("page", "target", "host")}
    shown = "all" if any(asked.values()) else request.GET.get("show", "")
    shown, kind = shown if shown in LISTS else "check", _kind(request, _worst(run))
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
        "type": _type(request, shown),
        "slow_seconds": SLOW_SECONDS,
        "certificate_days": SOON.days,
        "endings": ENDINGS,
        **_trend(run),
    }
    if shown == "check":
        here |= _compared(request, run)
    try:
        rows, following = _rows(request, here, asked)
    except (BadOrder, LinkSearchTookTooLong, TooManyProblems, TooManyToSort) as trouble:
        return render(request, "link_check/links.html", {**here, "trouble": str(trouble)})
    return render(request, "link_check/links.html", {**here, "rows": rows, "following": following})


def _compared(request: AuthenticatedRequest, run: Run) -> dict[str, Any]:
    old, change = _run_before(request, run), _change(request)
    if old is None or old.number > run.number:
        old = change = None
    asked = request.GET.get("sort", "")
    sort = ProblemSort(asked) if asked in list(ProblemSort) else None
    return {
        "old": old,
        "change": change,
        "changes": CHANGES,
        "sort": sort,
        "columns": {} if change else _columns(sort),
    }


def _columns(sort: ProblemSort | None) -> dict[str, ColumnHead]:
    """The heads that sort problems."""
    return {
        key: column(key, label, key == "links", now=sort or "", falls_first=key == "links")
        for key, label in SORTED.items()
    }


def _type(request: AuthenticatedRequest, shown: str) -> str:
    asked = request.GET.get("type", "")
    return asked if asked in TYPES.get(shown, {}) else ""


def _change(request: AuthenticatedRequest) -> ProblemChange | None:
    asked = request.GET.get("change", "")
    return ProblemChange(asked) if asked in list(ProblemChange) else None


def _rows(
    request: AuthenticatedRequest, here: dict[str, Any], asked: dict[str, str]
) -> tuple[list[Any], str | None]:
    run, most, after = here["run"], choices_of(request).most(ROWS), here["after"][:5000]
    match here["shown"]:
        case "check" if here["change"]:
            return list_changed(
                here["old"], run, here["kind"], here["change"], after=after, most=most
            )
        case "check" if here["sort"]:
            return list_sorted(run, here["kind"], here["sort"], after=after, most=most)
        case "check":
            return list_problems(run, here["kind"], after=after, most=most)
        case "all":
            return list_links(run, **asked, kind=here["type"], after=after, most=most)
        case "media":
            return list_media(run, kind=here["type"], after=after, most=most)
    return list_hosts(run, after=after, most=most)


def _kind(request: AuthenticatedRequest, usual: ProblemKind = ProblemKind.BROKEN) -> ProblemKind:
    """The kind of problem asked for; nonsense counts as not given."""
    asked = request.GET.get("kind", "")
    return ProblemKind(asked) if asked in list(ProblemKind) else usual


def _worst(run: Run) -> ProblemKind:
    """The first kind in the list that is known to have problems; until one is, the first."""
    found = worst_first(counts_of(run))
    return next((one.kind for one in found if one.share), ProblemKind.BROKEN)


@of_run(NEVER_STARTED)
def changes(request: AuthenticatedRequest, new: Run) -> HttpResponse:
    """The links that were added and removed in `?run=` (the latest) against `?against=` (the one
    before), by page, after an address.
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
    file = row_file(stem, kind, each_link_change(old, new), CHANGE_COLUMNS)
    return send(marked(marked(file, old, Derived.LINKS), new, Derived.LINKS))


def _run_before(request: AuthenticatedRequest, new: Run) -> Run | None:
    number = asked_number(request, "against")
    if number is not None:
        return get_object_or_404(new.crawl.runs, number=number)
    others = new.crawl.runs.exclude(pk=new.pk)
    return others.filter(number__lt=new.number).first() or others.first()


@of_run(NEVER_STARTED)
def problem_file(request: AuthenticatedRequest, run: Run, kind: str) -> HttpResponseBase:
    """Each link with each problem; `?kind=`: only those of that kind."""
    kinds = [_kind(request)] if "kind" in request.GET else list(ProblemKind)
    rows, stem = problem_rows(run, kinds), f"crawl-{run.crawl_id}-run-{run.number}-link-check"
    if kind == "xml":
        lines = junit_lines(kinds, rows, missing_of(run, kinds))
        file = Download(f"{stem}.xml", "application/xml", lines)
    else:
        file = row_file(stem, kind, rows)
    needs_reading = any(one.needs_reading for one in kinds)
    return send(marked(file, run, Derived.TEXTS if needs_reading else Derived.LINKS))


@of_run(NEVER_STARTED)
def fixes(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    here = {"crawl": run.crawl, "run": run, **_fixes(run)}
    return render(request, "link_check/fixes.html", here)


def _fixes(run: Run) -> dict[str, Any]:
    """Links to mend, by page, and what is not known yet."""
    here: dict[str, Any] = {"lag": read_lag(run, Derived.TEXTS)}
    try:
        pages, is_more = fixes_by_page(run)
    except LinkSearchTookTooLong as trouble:
        return here | {"trouble": str(trouble)}
    links = sum(len(one.fixes) for one in pages)
    return here | {"pages": pages, "is_more": is_more, "links": links}


@of_run(NEVER_STARTED)
def fixes_file(request: AuthenticatedRequest, run: Run, kind: str) -> HttpResponseBase:
    file = row_file(_stem(run), kind, fix_rows(run), FIX_COLUMNS)
    return send(marked(file, run, Derived.TEXTS))


def _stem(run: Run) -> str:
    return f"crawl-{run.crawl_id}-run-{run.number}-to-fix"


urlpatterns = [
    path("<int:pk>/fixes/", fixes, name="fixes"),
    file_route("fixes", ("csv", "jsonl"), fixes_file),
    path("<int:pk>/links/", show, name="links"),
    path("<int:pk>/link-changes/", changes, name="link-changes"),
    file_route("link-changes", ("csv", "jsonl"), changes_file),
    file_route("link-check", ENDINGS, problem_file),
]


#: the problems that a shared page shows
PROBLEMS = 200


def _counts(run: Run) -> Mapping[str, Any]:
    lag = read_lag(run, Derived.TEXTS)
    counts = {count.kind: count for count in _known_counts(run)}
    told = [(kind, counts.get(kind)) for kind in ProblemKind]
    return {
        "lag": lag,
        "is_running": run.state not in ENDED_STATES,
        "is_counting": len(counts) < len(told),
        "problems": [(kind, count) for kind, count in told if count is None or count.problems],
        "kinds_without_problems": ", ".join(
            kind.label for kind, count in told if count and not count.problems
        ),
    }


def _known_counts(run: Run) -> Iterator[ProblemCount]:
    """The counts with that of broken links, which is there as soon as the run has ended."""
    counts = counts_of(run)
    broken = BrokenLinks.objects.filter(run=run).first()
    if broken and ProblemKind.BROKEN not in counts:
        yield ProblemCount(ProblemKind.BROKEN, broken.broken)
    yield from counts.values()


def _shared_fixes(run: Run, asked: str) -> Mapping[str, Any]:
    here = _fixes(run)
    if "trouble" in here:
        return here | {"trouble": "These links take too long to find; ask who sent the link."}
    pages = [
        PageFixes(without_user(one.page), [_for_all(fix) for fix in one.fixes])
        for one in here["pages"]
    ]
    return here | {"pages": pages}


def _for_all(fix: LinkFix) -> LinkFix:
    return LinkFix(**{name: without_user(text) for name, text in vars(fix).items()})


def _shared_file(run: Run) -> Download:
    rows = ({name: without_user(text) for name, text in row.items()} for row in fix_rows(run))
    return marked(row_file(_stem(run), "csv", rows, FIX_COLUMNS), run, Derived.TEXTS)


def _problems(run: Run, text: str) -> Mapping[str, Any] | None:
    if text not in list(ProblemKind):
        return None
    kind = ProblemKind(text)
    try:
        rows, is_more = shared_problems(run, kind)
    except LinkSearchTookTooLong:
        trouble = "These problems take too long to find; ask who sent the link."
        return {"kind": kind, "trouble": trouble}
    lag = read_lag(run, kind.derived)
    return {"kind": kind, "rows": rows, "is_more": is_more, "lag": lag}


def shared_problems(run: Run, kind: ProblemKind) -> tuple[list[LinkProblem], bool]:
    """The first problems of a kind with the first links to each, and whether there are more.

    Raises LinkSearchTookTooLong.
    """
    found, following = list_problems(run, kind, most=PROBLEMS)
    return [_shared(problem) for problem in found], following is not None


def _shared(problem: LinkProblem) -> LinkProblem:
    sources = [replace(source, page=without_user(source.page)) for source in problem.sources]
    return replace(
        problem,
        url=without_user(problem.url),
        detail=without_user(problem.detail),
        chain=[without_user(url) for url in problem.chain],
        sources=sources,
    )


def _trend(run: Run) -> Mapping[str, Any]:
    """The trend of the crawl's latest runs; empty while no run has ended."""
    is_first = run.number == 1 and run.state not in ENDED_STATES
    rows = [] if is_first else list(trend_of(run.crawl)[:MOST_RUNS])
    return {"trend": rows, "bars": trend_bars(rows)}


def _kinds(run: Run) -> Mapping[str, Any]:
    """The kinds of problem; those that a run does not have stand apart."""
    found = worst_first(counts_of(run))
    clean = [one.kind for one in found if one.count and not one.share]
    return {
        "problem_kinds": [one for one in found if one.kind not in clean],
        "clean_kinds": clean,
    }


def _list(name: str) -> Callable[[Run, int], str]:
    return lambda run, crawl: f"{address_of('crawling:links', run)}&show={name}"


TABS = (Tab("Links", "links", after="not-fetched"),)
LINKS = tuple(Link(Place.LINKS, words, _list(name)) for name, words in LISTS.items() if words)
PANELS = (
    Panel(Place.CRAWL, "link_check/_trend.html", _trend),
    Panel(Place.SHARED_REPORT, "link_check/_shared.html", _counts),
    Panel(Place.LINKS, "link_check/_kinds.html", _kinds),
)
SHARED_PAGES = (
    ReportPage("kind", "link_check/shared_problems.html", _problems),
    ReportPage("fixes", "link_check/shared_fixes.html", _shared_fixes),
)
SHARED_FILES = (ReportFile("fixes", _shared_file),)

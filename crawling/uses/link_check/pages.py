"""The links of a run: their problems, those of a page and to it, media, hosts, and what is
different in another run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.urls import path
from redis.exceptions import RedisError

from crawling.base.errors import BadOrder
from crawling.dashboard.base.columns import ColumnHead, column
from crawling.dashboard.base.panels import Link, Panel, Place, ReportPage, Tab
from crawling.dashboard.base.requests import address_of, asked_number, of_run
from crawling.dashboard.base.run_pages import ask_by_button, file_route
from crawling.dashboard.run.shared_report import without_user
from crawling.datasets.jobs import request_reading
from crawling.datasets.parts import MOST_BEHIND, pages_behind
from crawling.datasets.progress import unread_parts
from crawling.datasets.query import LinkSearchTookTooLong
from crawling.models import Run
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
    problem_rows,
)
from crawling.uses.link_check.page_problems import SOON
from crawling.uses.link_check.problem_counts import counts_of, worst_first
from crawling.uses.link_check.problem_kinds import LinkProblem, ProblemKind
from crawling.uses.link_check.reports import (
    LINK_TYPES,
    MEDIA_TYPES,
    list_hosts,
    list_links,
    list_media,
)
from crawling.uses.link_check.sorted_problems import ProblemSort, TooManyToSort, list_sorted
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
#: words for what is different in a later run
CHANGES = {ProblemChange.NEW: "New", ProblemChange.MENDED: "Fixed"}
#: what a list may be narrowed to, with words
TYPES = {
    "all": {name: words for name, (words, _) in LINK_TYPES.items()},
    "media": {name: LINK_TYPES[name][0] for name in MEDIA_TYPES},
}
#: columns that problems may be sorted by
SORTED = {"address": "Address", "problem": "Problem", "links": "Links"}
#: of the files of problems
ENDINGS = {"csv": "CSV", "jsonl": "JSON Lines", "xml": "JUnit"}


@of_run(NEVER_STARTED, methods=("GET", "HEAD", "POST"))
def show(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    """The list `?show=`, and with `?page=`, `?target=` or `?host=` the links of a page, to a URL or
    to a host; a POST asks for the reading of the run's pages that the kind of problem needs.
    """
    if request.method == "POST":
        return _ask_reading(request, run)
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
        "behind": pages_behind(run),
        "most_behind": MOST_BEHIND,
        "after": request.GET.get("after", ""),
        "kind": kind,
        "types": TYPES.get(shown, {}),
        "type": _type(request, shown),
        "unread": kind.needs_reading and bool(unread_parts(run)),
        "slow_seconds": SLOW_SECONDS,
        "certificate_days": SOON.days,
        "endings": ENDINGS,
    }
    if shown == "check":
        here |= _compared(request, run)
    try:
        rows, following = _rows(request, here, asked)
    except (BadOrder, LinkSearchTookTooLong, TooManyProblems, TooManyToSort) as trouble:
        return render(request, "link_check/links.html", {**here, "trouble": str(trouble)})
    return render(request, "link_check/links.html", {**here, "rows": rows, "following": following})


def _ask_reading(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    return ask_by_button(
        request,
        partial(request_reading, run, by=request.user),
        RedisError,
        then=f"{address_of('crawling:links', run)}&kind={_kind(request)}",
        said="A background job reads the pages of this run again.",
    )


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
    here |= {"behind": [run.number for run in (new, old) if run and pages_behind(run)]}
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
    return send(row_file(stem, kind, each_link_change(old, new), CHANGE_COLUMNS))


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
        return send(Download(f"{stem}.xml", "application/xml", junit_lines(kinds, rows)))
    return send(row_file(stem, kind, rows))


urlpatterns = [
    path("<int:pk>/links/", show, name="links"),
    path("<int:pk>/link-changes/", changes, name="link-changes"),
    file_route("link-changes", ("csv", "jsonl"), changes_file),
    file_route("link-check", ENDINGS, problem_file),
]


#: that a shared page shows
PROBLEMS = 200


def _counts(run: Run) -> Mapping[str, Any] | None:
    """Of those kinds that are counted."""
    counts = list(counts_of(run).values())
    without = ", ".join(count.kind.label for count in counts if not count.problems)
    return {"problems": counts, "kinds_without_problems": without} if counts else None


def _problems(run: Run, text: str) -> Mapping[str, Any] | None:
    if text not in list(ProblemKind):
        return None
    kind = ProblemKind(text)
    try:
        rows, is_more = shared_problems(run, kind)
    except LinkSearchTookTooLong:
        trouble = "These problems take too long to find; ask who sent the link."
        return {"kind": kind, "trouble": trouble}
    return {"kind": kind, "rows": rows, "is_more": is_more}


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
    Panel(Place.SHARED_REPORT, "link_check/_shared.html", _counts),
    Panel(Place.LINKS, "link_check/_kinds.html", _kinds),
)
SHARED_PAGES = (ReportPage("kind", "link_check/shared_problems.html", _problems),)

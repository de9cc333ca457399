"""The page for searching texts."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse, QueryDict
from django.urls import path

from allocation.wording import whole_number
from crawling.base.errors import IndexBroken, UnknownCrawl, UnknownRun
from crawling.models import CrawlJob
from crawling.uses.search.jobs import lag_of_search
from crawling.uses.search.queries import BadQuery
from crawling.uses.search.search import (
    LIMITS,
    LONGEST_QUERY,
    MOST_BEFORE,
    ROWS,
    WORDS,
    SearchFilter,
    SearchResult,
    labelled_counts,
    search_texts,
)
from serving.access import AuthenticatedRequest, authenticated
from serving.requests import asked_text, render_framed

LARGEST = 2**31 - 1
#: the most crawls that the form offers; the filters beside the results have further ones
MOST_CRAWLS = 100
#: the types of documents with texts that the form offers
TYPES = ("text/html", "application/pdf", "text/plain", "application/json", "application/rss+xml")
#: the number of page numbers that are shown on each side of the current one
AROUND = 3
FILTERS = ("crawl", "run", "host", "type", "month", "language")


@authenticated(needs="crawling.view_crawljob")
def search_page(request: AuthenticatedRequest) -> HttpResponse:
    """Show pages with the words of `?q=`, the best first, with filters. `?after=` is the number of
    pages to skip.
    """
    text = asked_text(request.GET, "q", most=LONGEST_QUERY)
    wanted, before = (
        _requested_filter(request.GET),
        min(_asked_number(request.GET, "after") or 0, MOST_BEFORE),
    )
    here: dict[str, Any] = {
        "text": text,
        "wanted": wanted,
        "longest": LONGEST_QUERY,
        "limits": LIMITS,
        "crawls": _crawl_choices(wanted),
        "types": [*TYPES, *([wanted.type] if wanted.type and wanted.type not in TYPES else [])],
    }
    if not text:
        return render_framed(request, "search/texts.html", here)
    try:
        result = search_texts(text, wanted, before=before, most=ROWS)
    except BadQuery as trouble:
        return render_framed(request, "search/texts.html", {**here, "trouble": trouble.sentence})
    except IndexBroken as damage:
        return render_framed(request, "search/texts.html", {**here, "damage": damage}, status=503)
    except (UnknownCrawl, UnknownRun) as trouble:
        return render_framed(request, "search/texts.html", {**here, "trouble": str(trouble)})
    here |= _result_facts(request, result, wanted, before)
    return render_framed(request, "search/texts.html", here)


def _requested_filter(query: QueryDict) -> SearchFilter:
    """The filter that a URL's query asks for. Invalid values are ignored."""
    crawl = _asked_number(query, "crawl")
    return SearchFilter(
        crawl=crawl,
        run=_asked_number(query, "run") if crawl else None,
        all_runs=query.get("runs") == "all",
        **{name: asked_text(query, name) for name in ("host", "type", "month", "language")},
    )


def _crawl_choices(wanted: SearchFilter) -> list[tuple[int, str]]:
    """Ids and names of the crawls that the form offers: the latest ones, and the chosen one."""
    rows = CrawlJob.objects.order_by("-pk").values_list("pk", "name")
    found = dict(rows[:MOST_CRAWLS])
    if wanted.crawl and wanted.crawl not in found:
        found |= dict(rows.filter(pk=wanted.crawl))
    return sorted(found.items(), key=lambda crawl: crawl[1].casefold())


def page_numbers(count: int, before: int) -> list[tuple[int | None, int]]:
    """The numbers of pages of results, each with the number of results before that page: the first,
    those around the current one, and the last that can be requested. None represents numbers that
    are left out.
    """
    last = min((count - 1) // ROWS, MOST_BEFORE // ROWS)
    here = before // ROWS
    shown = sorted({0, last, *range(max(0, here - AROUND), min(last, here + AROUND) + 1)})
    pages: list[tuple[int | None, int]] = []
    for place, one in enumerate(shown):
        if place and one > shown[place - 1] + 1:
            pages.append((None, 0))
        pages.append((one + 1, one * ROWS))
    return pages


def _asked_number(query: QueryDict, name: str) -> int | None:
    number = whole_number(query.get(name, ""))
    return number if number is not None and 0 < number <= LARGEST else None


def _result_facts(
    request: AuthenticatedRequest, result: SearchResult, wanted: SearchFilter, before: int
) -> dict[str, Any]:
    counts = labelled_counts(result)
    chips = [
        {
            "label": WORDS.get(name, "Run"),
            "value": value,
            "address": _address_without_filter(request, name),
        }
        for name in FILTERS
        if (value := getattr(wanted, name))
    ]
    for chip in chips:
        if chip["label"] == WORDS["crawl"] and counts.get("crawl"):
            chip["value"] = counts["crawl"][0].label
    following = before + ROWS
    has_more = result.count > following and following <= MOST_BEFORE
    return {
        "result": result,
        "lag": lag_of_search(result.runs),
        "counts": [
            (WORDS[name], [(one, _address_with_filter(request, name, one.value)) for one in values])
            for name, values in counts.items()
            if not getattr(wanted, name) and len(values) > 1
        ],
        "chips": chips,
        "reset": f"?{urlencode({'q': request.GET.get('q', '')})}",
        "before": before,
        "pages": page_numbers(result.count, before) if result.count else [],
        "preceding": max(0, before - ROWS) if before else None,
        "following": following if has_more else None,
    }


def _address_with_filter(request: AuthenticatedRequest, name: str, value: str) -> str:
    """The address of the beginning of the list with a filter added."""
    query = request.GET.copy()
    query.pop("after", None)
    query[name] = value
    return f"?{query.urlencode()}"


def _address_without_filter(request: AuthenticatedRequest, name: str) -> str:
    """The address of the beginning of the list without a filter. Without the crawl there is no
    filter by run, either.
    """
    query = request.GET.copy()
    for one in (name, "after", *(["run"] if name == "crawl" else [])):
        query.pop(one, None)
    return f"?{query.urlencode()}"


app_name = "search"
urlpatterns = [path("text/", search_page, name="texts")]

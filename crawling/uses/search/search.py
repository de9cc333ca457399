"""Find stored pages by their text: ranked, with snippets, and counted by crawl, host, type, month
and language.

The index may lag behind the database, so each query reads from the database which runs exist and
which pages were withdrawn.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

import tantivy
from django.db.models import Max
from tantivy import Occur, Query

from crawling.base.errors import UnknownCrawl, UnknownRun
from crawling.models import CrawlJob, Page, Run, WithdrawnPage
from crawling.uses.search.open_index import OPEN_INDEX, IndexView, facet_counts
from crawling.uses.search.queries import query_of, read_query
from crawling.uses.search.snippets import SnippetPart, SnippetWriter
from crawling.web.documents.base import MOST_TEXT as OF_OTHERS
from crawling.web.documents.html_text import MOST_TEXT as OF_HTML
from crawling.web.languages import NAMES
from serving.ids import ids_as_parameter
from serving.listing.columns import Column

ROWS = 20
#: the most results that may be skipped; skipped results take as long as shown ones
MOST_BEFORE = 1_000
LONGEST_QUERY = 500
LIMITS = (
    f"Of an HTML page the first {OF_HTML:,} characters of its text are searched, of other "
    f"documents the first {OF_OTHERS:,}."
)
#: the fields that are shown of a page; reading a crawl's whole order would take longer than a
#: search
SHOWN = (
    *("title", "content_type", "fetched_at", "rendition"),
    *("url__url", "run__number", "run__crawl__name"),
)
#: the fields by which results are counted, with the most values of each
COUNTED = {"crawl": 10, "host": 10, "type": 10, "month": 12, "language": 10}
#: the fields by which results are counted, with their words
WORDS = {
    "crawl": "Crawl",
    "host": "Host",
    "type": "Type",
    "month": "Month",
    "language": "Language",
}


@dataclass(frozen=True)
class SearchFilter:
    """The filter besides the words. Empty fields have no effect."""

    #: id of a crawl
    crawl: int | None = None
    #: number of a run of that crawl
    run: int | None = None
    #: whether all runs of each crawl are searched, or only the latest run with pages in the index
    all_runs: bool = False
    host: str = ""
    type: str = ""
    #: the month in which the pages were fetched, like 2026-11
    month: str = ""
    #: the code of the language
    language: str = ""


@dataclass(frozen=True)
class Hit:
    page: Page
    score: float
    snippet: Sequence[SnippetPart]
    language: str

    @property
    def rounded_score(self) -> float:
        return round(self.score, 3)


@dataclass(frozen=True)
class SearchResult:
    """The best pages, from an offset on."""

    hits: Sequence[Hit] = ()
    count: int = 0
    #: for each field, its values with the number of pages
    counts: Mapping[str, Sequence[tuple[str, int]]] = field(default_factory=dict)
    milliseconds: int = 0
    #: ids of the searched runs, including runs that are not in the index yet
    runs: frozenset[int] = frozenset()


def search_texts(
    text: str, wanted: SearchFilter, *, before: int = 0, most: int = ROWS
) -> SearchResult:
    """The pages with a text. before: the number of better pages that are skipped.

    Raises BadQuery, UnknownCrawl, UnknownRun, IndexBroken.
    """
    began = time.monotonic()
    clauses = read_query(text)
    view = OPEN_INDEX.look()
    runs = _wanted_runs(view.runs if view else frozenset(), wanted)
    asked = runs | _wanted_runs(None, wanted)
    if view is None or not runs:
        return SearchResult(runs=asked)
    words = query_of(clauses, view.schema, view.languages)
    query = Query.boolean_query([(Occur.Must, words), *_filter_clauses(view, wanted, runs)])
    with OPEN_INDEX.read_index():
        found = view.searcher.search(query, most, count=True, offset=before)
        counts = facet_counts(view.searcher, query, COUNTED)
        snippets = SnippetWriter(clauses, words, view.searcher, view.schema)
        hits = list(_hits_with_pages(view.searcher, found.hits, snippets))
    return SearchResult(
        hits,
        found.count,  # type: ignore[attr-defined]  # missing in the stubs
        {
            name: [(_value_as_text(value), n) for value, n in values]
            for name, values in counts.items()
        },
        round(1000 * (time.monotonic() - began)),
        asked,
    )


def _value_as_text(value: str | float) -> str:
    return value if isinstance(value, str) else str(int(value))


def _wanted_runs(known: frozenset[int] | None, wanted: SearchFilter) -> frozenset[int]:
    """The wanted runs among those in the index. None for all. Raises UnknownCrawl or UnknownRun."""
    runs = (
        Run.objects.all() if known is None else Run.objects.filter(pk__in=ids_as_parameter(known))
    )
    if wanted.crawl is not None:
        if not CrawlJob.objects.filter(pk=wanted.crawl).exists():
            raise UnknownCrawl(f"There is no crawl {wanted.crawl}.")
        runs = runs.filter(crawl=wanted.crawl)
        if wanted.run is not None:
            if not Run.objects.filter(crawl=wanted.crawl, number=wanted.run).exists():
                raise UnknownRun(f"Crawl {wanted.crawl} has no run {wanted.run}.")
            return frozenset(runs.filter(number=wanted.run).values_list("pk", flat=True))
    if wanted.all_runs:
        return frozenset(runs.values_list("pk", flat=True))
    latest = runs.order_by().values("crawl").annotate(latest=Max("pk"))
    return frozenset(latest.values_list("latest", flat=True))


def _filter_clauses(
    view: IndexView, wanted: SearchFilter, runs: frozenset[int]
) -> Iterator[tuple[Occur, Query]]:
    schema = view.schema
    if others := view.runs - runs:
        # whichever of the two lists is shorter
        is_short = len(runs) <= len(others)
        chosen = Query.term_set_query(schema, "run", sorted(runs if is_short else others))
        yield Occur.Must if is_short else Occur.MustNot, Query.const_score_query(chosen, 0.0)
    withdrawn = WithdrawnPage.objects.filter(run__in=ids_as_parameter(runs), content__isnull=False)
    if gone := list(withdrawn.values_list("url", flat=True)):
        yield Occur.MustNot, Query.term_set_query(schema, "page", gone)
    for name in ("host", "type", "month", "language"):
        if value := getattr(wanted, name):
            has = Query.term_query(schema, name, value, "basic")
            yield Occur.Must, Query.const_score_query(has, 0.0)


def _hits_with_pages(
    searcher: tantivy.Searcher,
    found: Sequence[tuple[float, tantivy.DocAddress]],
    snippets: SnippetWriter,
) -> Iterator[Hit]:
    documents = [(score, searcher.doc(place)) for score, place in found]
    pages = Page.objects.filter(run__removal_asked_at=None).select_related("url", "run__crawl")
    known = pages.only(*SHOWN).in_bulk([document.get_first("page") for _, document in documents])
    for score, document in documents:
        page = known.get(document.get_first("page"))
        if page is not None:  # a page without a row was withdrawn or deleted during the search
            language = document.get_first("language") or ""
            yield Hit(page, score, snippets.snippet(document), language)


@dataclass(frozen=True)
class ValueCount:
    value: str
    label: str
    count: int


@dataclass(frozen=True)
class HitRow:
    """A page that was found."""

    crawl: Annotated[int, Column(of="page.run.crawl_id")]
    crawl_name: Annotated[str, Column(of="page.run.crawl.name")]
    run: Annotated[int, Column(of="page.run.number")]
    page: Annotated[int, Column("its id, as in `/crawls/{crawl_id}/pages`", of="page.pk")]
    url: Annotated[str, Column(of="page.url.url")]
    title: Annotated[str, Column(of="page.title")]
    language: Annotated[str, Column("code; empty: not known")]
    content_type: Annotated[str, Column(of="page.content_type")]
    fetched_at: Annotated[datetime, Column(of="page.fetched_at")]
    score: Annotated[float, Column(of="rounded_score")]
    snippet: Sequence[SnippetPart]


def labelled_counts(result: SearchResult) -> dict[str, list[ValueCount]]:
    """The counts that help a user, with a label for each value. Takes one query."""
    crawls = [int(value) for value, _ in result.counts.get("crawl", ())]
    names = dict(CrawlJob.objects.filter(pk__in=crawls).values_list("pk", "name"))
    labels: Mapping[str, Mapping[str, str]] = {
        "crawl": {str(pk): name for pk, name in names.items()},
        "language": {**NAMES, "": "not known"},
    }
    return {
        name: [
            ValueCount(value, labels.get(name, {}).get(value, value), count)
            for value, count in result.counts[name]
        ]
        for name in WORDS
        if result.counts.get(name)
    }

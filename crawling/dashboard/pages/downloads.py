"""Pages as rows of facts, the values that extraction rules found in them, and files of a run: its
rows, and the records of its pages in the archive. Each file is made while it is sent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import Annotated, Any

from django.db.models import QuerySet

from crawling.archive.reader import check_not_withdrawn
from crawling.archive.selection import foreign_payloads, local_files, warc_of, warc_of_run
from crawling.dashboard.pages.filter import PageFilter, in_time
from crawling.dashboard.pages.page_faults import faults_of
from crawling.dashboard.pages.rendering_filter import RenderingFilter
from crawling.models import ExtractedRow, Page, Run
from crawling.orders.ranking import Order, Ranking
from serving.downloads import Download, row_file
from serving.ids import ids_as_parameter
from serving.listing.columns import Column
from serving.listing.sources import QueryList

#: the facts about an answered fetch (SEEDS B6), by the names of the columns
FACTS: dict[str, Callable[[Page], Any]] = {
    "id": attrgetter("pk"),
    "url": attrgetter("url.url"),
    **{
        name: attrgetter(name)
        for name in ("final_url", "status", "content_type", "bytes", "charset", "title")
    },
    "depth": attrgetter("url.depth"),
    **{name: attrgetter(name) for name in ("fetched_at", "fetch_seconds", "address")},
    "warc_file": lambda page: page.archive_file.name if page.archive_file else None,
    "warc_offset": attrgetter("archive_offset"),
    "fingerprint": lambda page: f"{page.fingerprint & (1 << 64) - 1:016x}",
    **{
        name: attrgetter(name)
        for name in (
            "duplicate_of",
            "canonical",
            "author",
            "description",
            "abstract",
            "language",
            "links",
        )
    },
    **{
        name: attrgetter(name) for name in ("needs_browser", "rendering", "why_rendering", "unread")
    },
    "failed_requests": lambda page: len(faults_of(page).failed) if page.rendition else None,
    "console_errors": lambda page: len(faults_of(page).errors) if page.rendition else None,
    "first_fault": lambda page: faults_of(page).first,
    **{
        name: attrgetter(name)
        for name in ("last_modified", "expires_at", "etag", "unchanged_since", "payload_from")
    },
    **{
        name: attrgetter(f"url.{name}")
        for name in ("via", "rank", "backlinks", "credit", "attempts")
    },
    "weight": lambda page: weight_of(page),
}
COLUMNS = ("url", "name", "value")
WARC = "application/warc"
#: the prefix of the names of columns with extracted fields
FIELD = "field."
#: the number of pages whose fields are read at once
PAGES_AT_A_TIME = 100


@dataclass(frozen=True)
class ExtractedValue:
    id: int
    url: Annotated[str, Column(of="url.url")]
    name: Annotated[str, Column("of the rule")]
    value: str


#: in the order in which the values were found
EXTRACTED = QueryList(ExtractedValue, is_oldest_first=True)


def weight_of(page: Page) -> float:
    """The weight of a page: SEEDS B4's I(P) with the weights of the crawl's order, for any order of
    visits.
    """
    part = page.run.crawl.order.ordering
    ranking = Ranking(Order.BEST_FIRST, part.links_weight, part.url_weight, part.importance)
    return ranking.weight(page.url.url, page.url.backlinks or 0)


def row_of(page: Page) -> dict[str, Any]:
    return {name: fact(page) for name, fact in FACTS.items()}


def extracted_rows(run: Run, name: str = "") -> QuerySet[ExtractedRow]:
    """The rows of all rules, or of one rule."""
    found = ExtractedRow.objects.filter(run=run).select_related("url")
    return found.filter(name=name) if name else found


def extracted_rows_file(run: Run, kind: str) -> Download:
    rows = EXTRACTED.each(extracted_rows(run))
    stem = f"crawl-{run.crawl_id}-run-{run.number}"
    return row_file(stem, kind, ({name: row[name] for name in COLUMNS} for row in rows), COLUMNS)


def rows_file(run: Run, wanted: PageFilter, kind: str) -> Download:
    """A file with facts about pages, and the values of extraction rules on them, with a column for
    each rule.
    """
    told = cell_value if kind == "csv" else json_value
    columns, rows = rows_with_fields(run, in_time(wanted.of(run)), told)
    return row_file(_stem(run, wanted), kind, rows, columns)


def rows_with_fields(
    run: Run, pages: Iterable[Page], told: Callable[[list[str]], object]
) -> tuple[tuple[str, ...], Iterator[dict[str, Any]]]:
    """The columns of pages, and their rows. told: returns the values of a rule on a page in the
    form of the file.
    """
    names = matched_rule_names(run)
    columns = tuple(f"{FIELD}{name}" for name in names)
    rows = _with_fields(run, iter(pages), names, told) if names else map(row_of, pages)
    return (*FACTS, *columns), rows


def _with_fields(
    run: Run, pages: Iterator[Page], names: list[str], told: Callable[[list[str]], object]
) -> Iterator[dict[str, Any]]:
    while some := list(islice(pages, PAGES_AT_A_TIME)):
        found = field_values(run, [page.pk for page in some])
        for page in some:
            values = found.get(page.pk, {})
            fields = {f"{FIELD}{name}": told(values.get(name, [])) for name in names}
            yield row_of(page) | fields


def matched_rule_names(run: Run) -> list[str]:
    """The names of the rules that found something in the run."""
    found = ExtractedRow.objects.filter(run=run).order_by("name")
    return list(found.values_list("name", flat=True).distinct())


def field_values(run: Run, pages: list[int]) -> dict[int, dict[str, list[str]]]:
    """The values of each rule on each of these pages, by the pages' ids, in the order in which they
    were found.
    """
    found: dict[int, dict[str, list[str]]] = {}
    rows = ExtractedRow.objects.filter(run=run, url__in=ids_as_parameter(pages)).order_by("pk")
    for url, name, value in rows.values_list("url", "name", "value"):
        found.setdefault(url, {}).setdefault(name, []).append(value)
    return found


def json_value(values: list[str]) -> list[str] | str | None:
    """The values for JSON: None without a value, a single value, or a list of several."""
    return values if len(values) > 1 else next(iter(values), None)


def cell_value(values: list[str]) -> str | None:
    """The value as a text; several values as JSON; None without a value."""
    told = json_value(values)
    return json.dumps(told, ensure_ascii=False) if isinstance(told, list) else told


def warc_file(run: Run, wanted: PageFilter) -> Download:
    """The records of the pages that match the filter. Without a filter the whole archive of the
    run, including failures. Payloads that are in other runs are included.

    Raises ArchiveTrouble if there are no records, or if they are not on this machine.
    """
    files, name = local_files(run), f"{_stem(run, wanted)}.warc.gz"
    if not wanted:
        check_not_withdrawn(files)
        foreign = foreign_payloads(run)
        pieces = warc_of_run(
            files, foreign.iterator(), name=name, facts=_warcinfo_fields(run, wanted)
        )
        size = sum(file.committed_length for file in files)
        return Download(name, WARC, pieces, None if foreign.exists() else size)
    return Download(
        name, WARC, warc_of(in_time(wanted.of(run)), name=name, facts=_warcinfo_fields(run, wanted))
    )


def page_file(page: Page) -> Download:
    """The records of one page, with the record that has its payload. Raises ArchiveTrouble."""
    local_files(page.run)
    name = f"page-{page.pk}.warc.gz"
    return Download(
        name, WARC, warc_of([page], name=name, facts=_warcinfo_fields(page.run, PageFilter()))
    )


def _stem(run: Run, wanted: PageFilter) -> str:
    return f"crawl-{run.crawl_id}-run-{run.number}{'-some' if wanted else ''}-pages"


def _warcinfo_fields(run: Run, wanted: PageFilter) -> dict[str, str]:
    facts = {
        "software": "crawlsite",
        "format": "WARC File Format 1.1",
        "isPartOf": f"{run.crawl.name}, run {run.number}",
    }
    conditions = [f"status {wanted.status}"] if wanted.status else []
    conditions += [f"{wanted.text!r} in address or title"] if wanted.text else []
    conditions += ["not all read"] if wanted.is_unread else []
    conditions += [f"type {wanted.kind}"] if wanted.kind else []
    conditions += [RenderingFilter(wanted.rendering).label] if wanted.rendering else []
    return facts | ({"description": f"pages with {' and '.join(conditions)}"} if conditions else {})

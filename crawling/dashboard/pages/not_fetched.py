"""Addresses that a run has not fetched, counted by reason and listed: excluded by a rule, excluded
otherwise, failed, quarantined, or copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, NamedTuple

from django.db.models import QuerySet

from crawling.frontier import counts_of
from crawling.models import (
    Page,
    Run,
    TrapPattern,
    Url,
    UrlState,
    Verdict,
    VerdictCount,
)
from crawling.orders.scope.filters import Rule
from crawling.orders.scope.trap_patterns import hold_reason
from crawling.runs.failure_causes import NOT_FETCHED, causes_without_samples
from crawling.web.statuses import FetchStatus, status_sentence
from serving.listing.columns import Column
from serving.paging import cut_to_limit

CHUNK = 500
HELD, COPY = "held", "copy"


@dataclass(frozen=True, slots=True)
class NotFetchedReason:
    #: the name of the reason in the address of the page
    key: str
    kind: str
    words: str
    urls: int
    #: the number of addresses that were counted but not listed
    unlisted: int = 0
    #: the status of the URLs, if another try may change it
    status: int | None = None

    @property
    def is_closed_address(self) -> bool:
        """Whether an administrator can remove the reason by allowing an address."""
        return self.status == FetchStatus.ADDRESS_REFUSED


@dataclass(frozen=True, slots=True)
class NotFetched:
    id: int
    url: str
    sentence: str
    depth: int
    found_on: Annotated[str, Column("first page with a link to it; empty for a start URL")]


class _Row(NamedTuple):
    id: int
    url: str
    sentence: str
    depth: int
    via: int | None


def reasons_of(run: Run) -> list[NotFetchedReason]:
    """The reasons that occur: the rules in their order, then the other reasons, the commonest
    first.
    """
    counts = VerdictCount.objects.filter(run=run).exclude(kept=0, more=0)
    rules = sorted(((Rule(row.rule), row) for row in counts), key=lambda one: one[0].number)
    found = [
        NotFetchedReason(
            f"rule-{rule}",
            "excluded by a rule",
            f"rule {rule.number}, {rule.words}",
            row.kept + row.more,
            row.more,
        )
        for rule, row in rules
    ]
    return [*found, *_by_status(run), *_by_counts(run)]


def _by_status(run: Run) -> list[NotFetchedReason]:
    """Failed and excluded URLs."""
    return [
        NotFetchedReason(
            f"{cause.state}{cause.status}",
            UrlState(cause.state).label,
            cause.sentence,
            cause.urls,
            status=cause.status if cause.may_retry else None,
        )
        for cause in causes_without_samples(run)
    ]


def _by_counts(run: Run) -> list[NotFetchedReason]:
    """The reasons for copies and for quarantined URLs."""
    found, sums = list[NotFetchedReason](), counts_of([run.pk])[run.pk]
    if sums.quarantined:
        found.append(
            NotFetchedReason(
                HELD,
                "held",
                "looks like a trap's, and waits for an operator's word",
                sums.quarantined,
            )
        )
    if sums.duplicate:
        found.append(
            NotFetchedReason(
                COPY, "not kept twice", "the content of another page of the run", sums.duplicate
            )
        )
    return found


def not_fetched_urls(
    run: Run, key: str, *, after: int = 0, most: int
) -> tuple[list[NotFetched], int | None]:
    """The addresses with one reason, in the order in which they were found, and the id after which
    more follow.
    """
    rows, following = cut_to_limit(_read_rows(run, key, after, most + 1), most, lambda row: row.id)
    urls = dict(
        Url.objects.filter(pk__in={row.via for row in rows if row.via is not None}).values_list(
            "pk", "url"
        )
    )
    items = [
        NotFetched(row.id, row.url, row.sentence, row.depth, urls.get(row.via or 0, ""))
        for row in rows
    ]
    return items, following


def each_not_fetched_url(run: Run, reasons: Sequence[NotFetchedReason]) -> Iterator[dict[str, Any]]:
    """All addresses with these reasons. Only a bounded number is in memory at a time."""
    for reason in reasons:
        after: int | None = 0
        while after is not None:
            rows, after = not_fetched_urls(run, reason.key, after=after, most=CHUNK)
            yield from (
                {"kind": reason.kind, "reason": reason.words, **asdict(row)} for row in rows
            )


def _read_rows(run: Run, key: str, after: int, limit: int) -> list[_Row]:
    read = _kept_out if key.startswith("rule-") else READERS.get(key, _ended_rows)
    return list(read(run, key, after, limit))


def _kept_out(run: Run, key: str, after: int, limit: int) -> Iterator[_Row]:
    rows = Verdict.objects.filter(run=run, rule=key.removeprefix("rule-"), pk__gt=after).order_by(
        "pk"
    )[:limit]
    return (_Row(row.pk, row.url, row.sentence, row.depth, row.via) for row in rows)


def _ended_rows(run: Run, key: str, after: int, limit: int) -> Iterator[_Row]:
    state, status = key[:1], key[1:]
    if state not in NOT_FETCHED or not status.removeprefix("-").isdecimal() or len(status) > 5:
        return iter(())
    rows = _urls_after(Url.objects.filter(run=run, state=state, status=int(status)), after, limit)
    return (
        _Row(row.pk, row.url, row.error or status_sentence(int(status)), row.depth, row.via)
        for row in rows
    )


def _quarantined_rows(run: Run, key: str, after: int, limit: int) -> Iterator[_Row]:
    rows = _urls_after(Url.objects.filter(run=run, state=UrlState.QUARANTINED), after, limit)
    patterns = {
        pattern.key: pattern
        for pattern in TrapPattern.objects.filter(run=run, key__in={row.pattern for row in rows})
    }
    said = {
        key: f"{pattern.pattern}: {hold_reason(pattern.rule or 'yield')}"
        for key, pattern in patterns.items()
    }
    return (
        _Row(row.pk, row.url, said.get(row.pattern or 0, ""), row.depth, row.via) for row in rows
    )


def _copies(run: Run, key: str, after: int, limit: int) -> Iterator[_Row]:
    rows = (
        Page.objects.select_related("url")
        .filter(run=run, duplicate_of__isnull=False, pk__gt=after)
        .order_by("pk")[:limit]
    )
    originals = dict(
        Url.objects.filter(pk__in={row.duplicate_of for row in rows}).values_list("pk", "url")
    )
    return (
        _Row(
            row.pk,
            row.url.url,
            f"as {originals.get(row.duplicate_of or 0, 'a page before')}",
            row.url.depth,
            row.url.via,
        )
        for row in rows
    )


READERS: dict[str, Callable[[Run, str, int, int], Iterator[_Row]]] = {
    HELD: _quarantined_rows,
    COPY: _copies,
}


def _urls_after(urls: QuerySet[Url], after: int, limit: int) -> list[Url]:
    return list(urls.filter(pk__gt=after).order_by("pk")[:limit])

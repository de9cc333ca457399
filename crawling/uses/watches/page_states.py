"""Finds pages of a run that are new, gone or changed, by their stored rows.

A page exists if the answer was a success or a redirect. It is gone if the server said so (404,
410), or if a complete run does not know its address. Any other result, such as a time-out, does not
show whether the page exists.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from django.db.models import QuerySet
from django.db.models.fields.json import KT

from crawling.frontier import is_complete
from crawling.models import Page, Run, Url, UrlState, WithdrawnPage
from crawling.models.jobs import ENDED_STATES
from crawling.orders.scope.url_rules import UrlRule, UrlRuleKind
from crawling.web.addresses import fingerprint, signed_64_bits

#: the most earlier runs that are read
MOST_RUNS = 10
GONE_STATUSES = frozenset({404, 410})
COLUMNS = ("url__url", "pk", "status", "digest", "fingerprint", "final_url", "view_digest")


class Answer(NamedTuple):
    page: int
    is_there: bool
    #: SHA-256 of the content; None if unknown
    digest: bytes | None
    fingerprint: int
    #: the target of a redirect
    target: str
    #: SHA-256 of the screenshot, as hexadecimal digits; empty if there is none
    view_digest: str

    def is_same(self, other: Answer) -> bool:
        if self.target != other.target:
            return False
        if self.digest and other.digest:
            return self.digest == other.digest
        return self.fingerprint == other.fingerprint

    def looks_same(self, other: Answer) -> bool:
        """Whether the screenshots are the same, or one is missing."""
        return self.view_digest == other.view_digest or not (self.view_digest and other.view_digest)


class StateChange(NamedTuple):
    """A URL with its answers in the run and in the latest earlier run. An answer is None if there
    is none.
    """

    url: str
    old: Answer | None
    new: Answer | None


class StateChanges(NamedTuple):
    """The changes of one run, each kind in the order of the URLs."""

    changed: Sequence[StateChange] = ()
    gone: Sequence[StateChange] = ()
    new: Sequence[StateChange] = ()
    #: the URLs with an earlier answer whose present result does not show whether they exist, each
    #: with its status; 0 without a result
    unanswered: Sequence[tuple[str, int]] = ()
    #: the number of pages without a screenshot in one of the runs, if screenshots are compared
    unpictured: int = 0


def state_changes(rule: UrlRule, run: Run, *, by_picture: bool = False) -> StateChanges:
    """Compare the run with earlier runs, back to the latest complete one, and further back for URLs
    without an answer there. The result is empty for a crawl's first run.

    by_picture: pages have changed if their screenshots differ, and not by their content.
    """
    earlier = _earlier_runs(run)
    if not earlier:
        return StateChanges()
    now = _latest_answers(rule, [run])
    before, passed = _earlier_answers(rule, earlier)
    unsettled = now.keys() - before.keys()
    unanswered = _known_urls(passed, unsettled)
    rest = [one for one in earlier if one not in passed]
    if rest and unanswered:
        before |= _latest_answers(rule, rest, unanswered)
    old_names = unanswered | _withdrawn_urls(run, unsettled)
    changed, new, unpictured = [], [], 0
    for url, answer in sorted(now.items()):
        old = before.get(url)
        if not answer.is_there:
            continue
        if old and old.is_there:
            unpictured += by_picture and not (old.view_digest and answer.view_digest)
            if not (old.looks_same(answer) if by_picture else old.is_same(answer)):
                changed.append(StateChange(url, old, answer))
        elif old or url not in old_names:
            new.append(StateChange(url, old, answer))
    missing = [url for url, old in before.items() if old.is_there and url not in now]
    gone, unanswered_urls = [*_gone_pages(run, now, before)], _unanswered_urls(run, missing)
    return StateChanges(changed, gone, new, unanswered_urls, unpictured)


def candidate_pages(pages: QuerySet[Page], rule: UrlRule) -> QuerySet[Page]:
    """The pages that a rule may cover, as far as the database can select them."""
    if rule.kind is UrlRuleKind.PAGE:
        return pages.filter(
            url__fingerprint=signed_64_bits(fingerprint(rule.text)), url__url=rule.text
        )
    if rule.kind is UrlRuleKind.HOST:
        return pages.filter(url__queue__host__name=rule.text)
    return pages


def _earlier_runs(run: Run) -> list[Run]:
    """The earlier runs, the latest first."""
    runs = Run.objects.filter(crawl=run.crawl_id, number__lt=run.number, state__in=ENDED_STATES)
    return list(runs.order_by("-number")[:MOST_RUNS])


def _earlier_answers(rule: UrlRule, runs: Iterable[Run]) -> tuple[dict[str, Answer], list[Run]]:
    """The latest answer of each URL, back to a complete run, and the runs that were read."""
    answers: dict[str, Answer] = {}
    passed: list[Run] = []
    for run in runs:
        answers = _latest_answers(rule, [run]) | answers
        passed.append(run)
        if is_complete(run):
            break
    return answers, passed


def _latest_answers(
    rule: UrlRule, runs: Sequence[Run], urls: Collection[str] | None = None
) -> dict[str, Answer]:
    """The latest answer of several runs, by URL. Results that do not show whether a page exists are
    left out.

    urls: only answers of these.
    """
    pages = candidate_pages(Page.objects.filter(run__in=runs, url__run__in=runs), rule)
    if urls is not None:
        pages = pages.filter(url__fingerprint__in=_fingerprints_of(urls))
    pages = pages.annotate(view_digest=KT("rendition__view_digest")).order_by("run__number", "pk")
    found: dict[str, Answer] = {}
    rows = pages.values_list(*COLUMNS).iterator()
    for url, pk, status, digest, mark, final_url, view in rows:
        if (status < 400 or status in GONE_STATUSES) and rule.covers(url):
            target = final_url if final_url != url else ""
            known = bytes(digest) if digest is not None else None
            found[url] = Answer(pk, status < 400, known, mark, target, view or "")
    return found


def _gone_pages(
    run: Run, now: dict[str, Answer], before: dict[str, Answer]
) -> Iterator[StateChange]:
    missing = [url for url in before if url not in now]
    here = _known_urls([run], missing) if is_complete(run) else set(missing)
    for url, old in sorted(before.items()):
        new = now.get(url)
        if old.is_there and (url not in here if new is None else not new.is_there):
            yield StateChange(url, old, new)


def _unanswered_urls(run: Run, urls: Collection[str]) -> list[tuple[str, int]]:
    ended = Url.objects.filter(run=run, state__in=(UrlState.FAILED, UrlState.EXCLUDED))
    rows = ended.filter(fingerprint__in=_fingerprints_of(urls)).values_list("url", "status")
    wanted = set(urls)
    return sorted((url, status) for url, status in rows if status is not None and url in wanted)


def _known_urls(runs: Sequence[Run], urls: Collection[str]) -> set[str]:
    """The URLs among `urls` that are in one of the runs, with or without an answer."""
    rows = Url.objects.filter(run__in=runs, fingerprint__in=_fingerprints_of(urls))
    return set(rows.values_list("url", flat=True)).intersection(urls)


def _withdrawn_urls(run: Run, urls: Collection[str]) -> set[str]:
    """The URLs among `urls` that are withdrawn from a run of the crawl."""
    rows = WithdrawnPage.objects.filter(
        run__crawl=run.crawl_id, url__fingerprint__in=_fingerprints_of(urls)
    )
    return set(rows.values_list("url__url", flat=True))


def _fingerprints_of(urls: Collection[str]) -> list[int]:
    return [signed_64_bits(fingerprint(url)) for url in urls]

"""Withdraw stored pages: preview the pages, take them out, and restore them. Their records are
removed from the files later (`crawling.uses.withdrawals.file_removal`).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet, Sum
from django.utils import timezone

from crawling.base.audit import record_action
from crawling.base.errors import BadOrder, NotFound, WrongState
from crawling.datasets.progress import read_parts_later
from crawling.frontier.change.withdrawn_pages import restore_page_rows, withdraw_page_rows
from crawling.installation.events import pages_withdrawn
from crawling.jobs.kinds import JobEvent
from crawling.jobs.removal import check_jobs, delete_jobs, delete_jobs_after_event
from crawling.models import (
    ArchiveFile,
    BackgroundJob,
    CrawlJob,
    FurtherRecord,
    Inquiry,
    InquiryKind,
    Page,
    Run,
    Shift,
    Withdrawal,
    WithdrawalFile,
)
from crawling.models.deleted import RESTORABLE
from crawling.orders.scope.blocklist import BadEntry
from crawling.orders.scope.url_rules import UrlRule, UrlRuleKind
from crawling.uses.withdrawals.jobs import request_removal_of
from crawling.uses.withdrawals.withdrawal_runs import runs_of_withdrawal, take_over_pages
from crawling.web.addresses import fingerprint, signed_64_bits
from crawling.web.expressions import required_text
from crawling.web.statuses import NOT_MODIFIED_STATUS
from serving.listing.columns import Column

logger = logging.getLogger(__name__)

LONGEST_TEXT = 5_000
LONGEST_REASON = 300
#: the number of addresses that a preview shows
EXAMPLES = 20
#: the most pages of other crawls that a preview reads
LOOKED_AT = 50_000


@dataclass(frozen=True)
class CrawlCopies:
    """A crawl with copies of the pages; the withdrawal does not change them."""

    id: int
    name: str
    pages: Annotated[
        int, Column("those with such an address, or with the payload of a page to withdraw")
    ]


@dataclass(frozen=True)
class WithdrawalPreview:
    kind: str
    text: str
    pages: int
    examples: Annotated[list[str], Column("some of their URLs")]
    files: Annotated[int, Column("archive files that are read for their records")]
    file_bytes: int
    sharing: Annotated[int, Column("other pages with the same payload, which they keep")]
    other_crawls: Annotated[
        list[CrawlCopies],
        Column(
            "other crawls with such pages, which stay stored and searchable until they are "
            "withdrawn there; those with most pages first"
        ),
    ]


def withdrawal_preview(
    crawl: CrawlJob, run: Run | None, *, kind: str, text: str
) -> WithdrawalPreview:
    """The pages that a rule would withdraw. Raises BadOrder with a sentence for each field."""
    rule, errors = _read_rule(kind, text)
    if rule is None:
        raise BadOrder(errors)
    runs = runs_of_withdrawal(crawl, run)
    found = _covered_pages(runs, rule)
    ids = [pk for pk, _ in found]
    files = _archive_files(runs).aggregate(bytes=Sum("committed_length"))
    return WithdrawalPreview(
        rule.kind,
        rule.text,
        len(found),
        [url for _, url in found[:EXAMPLES]],
        _archive_files(runs).count(),
        files["bytes"] or 0,
        _pages_sharing_payload(ids).count(),
        _other_crawls(crawl, rule, ids),
    )


def withdraw_pages(
    crawl: CrawlJob,
    run: Run | None,
    *,
    kind: str,
    text: str,
    reason: str,
    by: User | None,
    at_once: bool = False,
) -> Withdrawal:
    """Withdraw the pages of a run, or of all runs of the crawl, that the rule covers.

    at_once: whether their records are removed from the files now, so that the withdrawal cannot be
    undone; otherwise they are removed after RESTORABLE. Raises BadOrder with a sentence for each
    field, NotFound if there is no such page, and WrongState.
    """
    rule = _checked_rule(kind, text, reason)
    with transaction.atomic():
        runs = list(runs_of_withdrawal(crawl, run).select_for_update(no_key=True).order_by("pk"))
        _check_runs_are_ended(runs)
        found = [pk for pk, _ in _covered_pages(runs_of_withdrawal(crawl, run), rule)]
        if not found:
            raise NotFound("No stored page has such an address.")
        _check_unchanged(found)
        now = timezone.now()
        withdrawal = Withdrawal.objects.create(
            crawl=crawl,
            run=run,
            kind=rule.kind,
            text=rule.text,
            reason=reason.strip(),
            by=by,
            pages=len(found),
            rewrite_at=now if at_once else now + RESTORABLE,
        )
        withdraw_page_rows(withdrawal.pk, found)
        WithdrawalFile.objects.bulk_create(
            WithdrawalFile(withdrawal=withdrawal, file=file, length=file.committed_length)
            for file in _archive_files(runs)
        )
        _forget_copies(crawl, runs, rule)
        facts = {"pages": len(found), "run": run and run.number, "reason": withdrawal.reason}
        record_action(by, crawl, f"withdrew {rule.kind} {rule.text}", _facts_as_changes(facts))
    check_jobs(JobEvent.WITHDRAWN, crawl.pk)
    if at_once:
        request_removal_of(withdrawal)
    return withdrawal


def _checked_rule(kind: str, text: str, reason: str) -> UrlRule:
    """The rule in these fields. Raises BadOrder with a sentence for each field."""
    rule, errors = _read_rule(kind, text)
    if not reason.strip() or len(reason.strip()) > LONGEST_REASON or not reason.isprintable():
        errors["reason"] = f"must be one line of 1 to {LONGEST_REASON} characters"
    if rule is None or errors:
        raise BadOrder(errors)
    return rule


def _forget_copies(crawl: CrawlJob, runs: Sequence[Run], rule: UrlRule) -> None:
    """Remove data that was made from pages and would still show the content of withdrawn pages."""
    _forget_test_fetches(rule)
    pages_withdrawn(crawl, rule)
    ids = [one.pk for one in runs]
    delete_jobs_after_event(JobEvent.WITHDRAWN, ids)


@transaction.atomic
def undo_withdrawal(crawl: CrawlJob, number: int, *, by: User | None) -> Withdrawal:
    """Restore the withdrawn pages. Raises NotFound, and WrongState once files are being
    rewritten.
    """
    withdrawal = _lock_withdrawal(crawl, number)
    if withdrawal.state != "withdrawn" or withdrawal.rewrite_at <= timezone.now():
        raise WrongState(
            f"Withdrawal {number} cannot be undone: "
            + ("it is undone." if withdrawal.undone_at else "its records are removed from files.")
        )
    for later in crawl.withdrawals.filter(pk__gt=number, undone_at=None).order_by("pk"):
        take_over_pages(later)
    rows = withdrawal.withdrawn_pages.filter(content__page__links_part__isnull=False)
    parts = set(rows.values_list("content__page__links_part", flat=True))
    restore_page_rows(withdrawal.pk)
    read_parts_later(parts)
    ids = list(runs_of_withdrawal(crawl, withdrawal.run).values_list("pk", flat=True))
    delete_jobs_after_event(JobEvent.WITHDRAWN, ids)
    withdrawal.files.all().delete()
    withdrawal.undone_at = timezone.now()
    withdrawal.save(update_fields=["undone_at"])
    record_action(
        by, crawl, f"undid withdrawal {number}", _facts_as_changes({"pages": withdrawal.pages})
    )
    return withdrawal


def remove_records_now(crawl: CrawlJob, number: int, *, by: User | None) -> Withdrawal:
    """Remove the records from the files now. Raises NotFound, and WrongState if their removal has
    begun or the withdrawal is undone.
    """
    with transaction.atomic():
        withdrawal = _lock_withdrawal(crawl, number)
        if withdrawal.state != "withdrawn":
            raise WrongState(f"Withdrawal {number} is {withdrawal.state} already.")
        withdrawal.rewrite_at = timezone.now()
        withdrawal.save(update_fields=["rewrite_at"])
        record_action(by, crawl, f"removed the records of withdrawal {number} from the files")
    request_removal_of(withdrawal)
    return withdrawal


def _forget_test_fetches(rule: UrlRule) -> None:
    """Remove the results of test fetches of these pages; otherwise they would show titles and links
    for another hour.
    """
    answered = Inquiry.objects.filter(kind=InquiryKind.TEST_FETCH).exclude(result=None)
    gone = [
        pk
        for pk, answer in answered.values_list("pk", "result")
        for one in (answer or {}).get("items", ())
        if rule.covers(one["url"]) or (one["final_url"] and rule.covers(one["final_url"]))
    ]
    delete_jobs(BackgroundJob.objects.filter(pk__in=gone))


def _read_rule(kind: str, text: str) -> tuple[UrlRule | None, dict[str, str]]:
    if kind not in UrlRuleKind.__members__.values():
        return None, {"kind": "must be one of " + ", ".join(UrlRuleKind)}
    if not text.strip() or len(text) > LONGEST_TEXT or not text.isprintable():
        return None, {"text": f"must be one line of 1 to {LONGEST_TEXT:,} characters"}
    try:
        return UrlRule.read(UrlRuleKind(kind), text), {}
    except BadEntry as error:
        return None, {"text": str(error)}


def _archive_files(runs: QuerySet[Run] | Sequence[Run]) -> QuerySet[ArchiveFile]:
    return ArchiveFile.objects.filter(run__in=runs, committed_length__gt=0)


def _covered_pages(runs: QuerySet[Run], rule: UrlRule) -> list[tuple[int, str]]:
    """Ids and URLs of the stored pages that a rule covers."""
    return sorted(
        (pk, url)
        for part, address in _candidate_pages(Page.objects.filter(run__in=runs), rule)
        for pk, url in part.order_by().values_list("pk", address).iterator(chunk_size=5_000)
        if rule.covers(url)
    )


def _candidate_pages(pages: QuerySet[Page], rule: UrlRule) -> list[tuple[QuerySet[Page], str]]:
    """A superset of the pages that a rule covers. It consists of querysets, each of which uses an
    index, with the name of the field that has the address. For an expression without a required
    text the superset is all pages.
    """
    if rule.kind is UrlRuleKind.PAGE:
        mark = signed_64_bits(fingerprint(rule.text))
        return [(pages.filter(url__fingerprint=mark, url__url=rule.text), "url__url")]
    if rule.kind is UrlRuleKind.HOST:
        return [(pages.filter(url__queue__host__name=rule.text), "url__url")]
    text = required_text(rule.text)
    # if the page is no redirect, its address is the last address of the fetch
    is_redirect = Q(status__range=(300, 399))
    direct, redirected = pages.filter(~is_redirect), pages.filter(is_redirect)
    if text:
        direct = direct.filter(final_url__icontains=text)
        redirected = redirected.filter(url__url__icontains=text)
    return [(direct, "final_url"), (redirected, "url__url")]


def _check_runs_are_ended(runs: Sequence[Run]) -> None:
    """Raise WrongState during a live shift, which could store such pages after the withdrawal."""
    ids = [run.pk for run in runs]
    alive = Shift.objects.filter(process__run__in=ids, ended_at=None).select_related("process__run")
    if shift := alive.first():
        number = shift.process.run.number
        raise WrongState(f"Run {number} is being worked at; pause it, withdraw, then resume it.")


def _check_unchanged(pages: Sequence[int]) -> None:
    """Raise WrongState if another page needs one of these pages, because its server called it
    unchanged and it has no content of its own.
    """
    unchanged = Page.objects.filter(payload_from__in=pages, status=NOT_MODIFIED_STATUS)
    other = unchanged.exclude(pk__in=pages).select_related("run").first()
    if other:
        raise WrongState(
            f"Run {other.run.number} has pages that the server called unchanged since; withdraw "
            "them from all runs of the crawl."
        )


def _pages_sharing_payload(pages: Sequence[int]) -> QuerySet[Page]:
    """Other pages, in this crawl or others, whose payload is in the records of these pages."""
    withdrawn = Page.objects.filter(pk__in=pages, is_revisit=False, archive_file__isnull=False)
    same = Q(payload_from__in=withdrawn.values("pk")) | Q(
        run__in=withdrawn.values("run"),
        payload_from=None,
        fingerprint__in=withdrawn.values("fingerprint"),
    )
    further = FurtherRecord.objects.filter(url__in=pages, is_revisit=False)
    same |= Q(run__in=further.values("run"), payload_sha256__in=further.values("payload_sha256"))
    return Page.objects.filter(same, is_revisit=True).exclude(pk__in=pages)


def _other_crawls(crawl: CrawlJob, rule: UrlRule, pages: Sequence[int]) -> list[CrawlCopies]:
    """The other crawls with such pages. Of very many pages, only the first LOOKED_AT are read."""
    found = {
        pk: whose for pk, whose, url in _pages_of_other_crawls(crawl, rule) if rule.covers(url)
    }
    sharing = (
        _pages_sharing_payload(pages).exclude(run__crawl=crawl).values_list("pk", "run__crawl")
    )
    counts = Counter((found | dict(sharing[:LOOKED_AT])).values()).most_common(EXAMPLES)
    names = CrawlJob.objects.in_bulk([whose for whose, _ in counts])
    return [
        CrawlCopies(whose, names[whose].name, count) for whose, count in counts if whose in names
    ]


def _pages_of_other_crawls(crawl: CrawlJob, rule: UrlRule) -> QuerySet[Page, tuple[int, int, str]]:
    """Ids, crawls and URLs of the pages of other crawls that a rule may cover, selected by an
    index. Redirects are left out, since they have no text.
    """
    pages = Page.objects.exclude(run__crawl=crawl).exclude(status__range=(300, 399)).order_by()
    if rule.kind is UrlRuleKind.HOST:
        pages = pages.filter(url__queue__host__name=rule.text)
    elif text := rule.text if rule.kind is UrlRuleKind.PAGE else required_text(rule.text):
        pages = pages.filter(final_url__icontains=text)
    return pages.values_list("pk", "run__crawl", "final_url")[:LOOKED_AT]


def _lock_withdrawal(crawl: CrawlJob, number: int) -> Withdrawal:
    found = (
        Withdrawal.objects.select_for_update(of=("self",)).filter(pk=number, crawl=crawl).first()
    )
    if found is None:
        raise NotFound(f"Crawl {crawl.pk} has no withdrawal {number}.")
    return found


def _facts_as_changes(facts: Mapping[str, object]) -> dict[str, tuple[object, object]]:
    return {name: (None, value) for name, value in facts.items() if value is not None}

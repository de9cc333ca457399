"""Change a crawl's order after its creation, even while the crawl runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from allocation.wording import whole_number
from crawling.base.audit import record_action
from crawling.base.errors import BadOrder, NotFound, WrongState
from crawling.base.sessions import session_lock
from crawling.frontier import locked_run, rules_key
from crawling.frontier.change.rejudgement import begin_reranking, rank_next_batch
from crawling.installation.events import order_edited
from crawling.installation.run_log import write
from crawling.models import CrawlJob, OrderRevision, Reranking, Run
from crawling.models.jobs import ENDED_STATES, WORKING_STATES
from crawling.orders.fields import format_value
from crawling.orders.order import PARTS, CrawlOrder, read_order
from crawling.orders.ranking import Order
from crawling.orders.sections.fetching import SECRET_FIELDS, FetchingPart
from crawling.runs.crawls.creation import (
    example_errors,
    is_crawl_name_taken,
    login_errors,
    order_of,
    taken_name_error,
    team_errors,
)
from crawling.runs.crawls.extractor_rules import edited_rules, order_with_named_rules
from crawling.runs.crawls.fetching_section import (
    change_fetching_fields,
    fetching_of,
    fields_with_secrets,
    origins_of_secrets,
    recipient_changes,
    secret_recipient_errors,
    unchanged_secrets,
)
from crawling.runs.crawls.maximum import POOL_FIELDS, change_max_in_pool, check_max
from crawling.runs.grants import cancel_waiting
from crawling.web.secret_headers import Secret

#: the fields that a live run follows within a second; the other fields have already determined its
#: frontier and its place in the pool
OF_THE_CRAWL = (
    "name",
    "purpose",
    "scope",
    "max_pages",
    "max_depth",
    "max_bytes",
    "max_seconds",
    "delay_seconds",
    "processes",
    "claim",
    "priority",
    "idle_only",
    "team",
    "extractor",
    "extract",
)
#: the editable fields of the part `reuse`; its other fields determine how a live run writes its
#: archive
REVISITS = ("revisit_days", "visits_a_day", "visit_policy")
#: the fields of the order's parts that may be edited, by column
EDITED_PARTS = {
    column: REVISITS if column == "reuse" else tuple(part.model_fields)
    for column, part in PARTS.items()
}
#: fields about requests, except `posts`: posts go only to seeds, which are already queued
FETCHING_FIELDS = tuple(name for name in FetchingPart.model_fields if name != "posts")
EDITABLE = (
    *OF_THE_CRAWL,
    *(name for names in EDITED_PARTS.values() for name in names),
    *FETCHING_FIELDS,
)
#: the fields whose edit makes it necessary to judge the waiting URLs again
RULING = frozenset(
    {
        "scope",
        "max_depth",
        *EDITED_PARTS["filters"],
        "host_max_pages",
        "host_max_bytes",
        "host_max_seconds",
        "domain_max_pages",
    }
)
#: the fields whose edit changes how many browsers the crawl claims
CLAIMING = frozenset({"render", "render_rules", "render_memory_mib"})
#: the name of added seeds in a revision (`crawling.runs.crawls.added_seeds`)
ADDED_SEEDS = "seeds added"
#: the fields whose edit makes it necessary to rank the queued URLs of a best-first crawl again
WEIGHTS = {"links_weight", "url_weight", "importance"}


def edit_crawl(
    crawl: CrawlJob,
    fields: Mapping[str, Any],
    *,
    by: User | None = None,
    revision: int | None = None,
) -> CrawlJob:
    """Change these fields, which are checked like those of an order.

    Raises BadOrder with a sentence for each field, or WrongState if `revision`, on which the
    changes were based, is no longer the latest; then nothing has changed. The revision may also
    stand among the fields.
    """
    fields = dict(fields)
    if (stated := fields.pop("revision", None)) is not None:
        revision = _read_revision(stated)
    with _edit_lock(crawl.pk):
        return _edit_by_bank_and_order(CrawlJob.objects.get(pk=crawl.pk), fields, by, revision)


@contextmanager
def _edit_lock(crawl_id: int) -> Iterator[None]:
    """Let edits of a crawl run one after the other. Otherwise the pool could end with the values of
    one of two edits, and the order with those of the other.

    No transaction spans pool and order, so a lock of a session is used.
    """
    with session_lock("hashtextextended(%s, 0)", [f"edit/{crawl_id}"]):
        yield


def _edit_by_bank_and_order(
    crawl: CrawlJob, fields: Mapping[str, Any], by: User | None, revision: int | None
) -> CrawlJob:
    if revision is not None:
        _check_revision(crawl, revision)
    fields = edited_rules(crawl, fields)
    order = _checked_edit(crawl, fields, by)
    values = {name: getattr(order, name) for name in EDITABLE if name in fields}
    if "claim" in values or not CLAIMING.isdisjoint(values):
        values["claim"] = check_max(crawl, order.claim, order)
    change_max_in_pool(crawl, {name: getattr(crawl, name) for name in POOL_FIELDS}, values)
    try:
        edited = _store_edit(crawl.pk, values, by, revision, unchanged_secrets(crawl, fields))
    except (IntegrityError, WrongState) as error:
        stands = CrawlJob.objects.get(pk=crawl.pk)
        change_max_in_pool(
            crawl, values, {name: getattr(stands, name) for name in POOL_FIELDS if name in values}
        )
        if isinstance(error, WrongState):
            raise
        raise BadOrder(taken_name_error(order.name)) from error
    if edited.idle_only and not crawl.idle_only:
        for run in edited.runs.filter(state__in=WORKING_STATES):
            cancel_waiting(run)  # the run no longer waits in the pool's queue
    for place in Reranking.objects.filter(run__crawl=edited, run__removal_asked_at=None):
        # a small frontier is ranked at once; the scheduler continues with a large one
        rank_next_batch(place.run_id)
    return edited


def _checked_edit(crawl: CrawlJob, fields: Mapping[str, Any], by: User | None) -> CrawlOrder:
    """The order after the edit. Raises BadOrder with a sentence for each field."""
    errors = {
        name: f"cannot be edited; these can: {', '.join(EDITABLE)}"
        for name in fields
        if name not in EDITABLE
    }
    order, mistakes = read_order(
        _edited_order(crawl, {name: fields[name] for name in EDITABLE if name in fields})
    )
    errors |= mistakes or (login_errors(order) if order and "login_url" in fields else {})
    if order and not fields.keys().isdisjoint(FETCHING_FIELDS):
        errors = secret_recipient_errors(crawl, order, fields) | errors
    if order and "topic" in fields:
        errors |= example_errors(order, crawl.pk)
    if (
        "name" in fields
        and "name" not in errors
        and (name := str(fields["name"])).strip() != crawl.name
        and is_crawl_name_taken(name)
    ):
        errors |= taken_name_error(name)
    if order and order.team != crawl.team:
        errors |= team_errors(order.team, by)
    if order and "extractor" in fields:
        try:
            order = order_with_named_rules(order)
        except BadOrder as error:
            errors |= error.errors
    if errors or not order:
        raise BadOrder(errors)
    return order


def revert_edit(
    crawl: CrawlJob, number: int, *, by: User | None = None, revision: int | None = None
) -> CrawlJob:
    """Restore the values from before an edit, by another edit.

    Raises NotFound, WrongState if the edit changed secrets, which no revision stores, and the
    errors of `edit_crawl`.
    """
    edit = crawl.revisions.filter(number=number).first()
    if edit is None:
        raise NotFound(f"{crawl.name} has no revision {number} that an edit has made.")
    if secrets := ", ".join(sorted(SECRET_FIELDS & edit.changes.keys())):
        raise WrongState(
            f"Revision {number} changed {secrets}, of which no revision keeps the secrets; edit "
            "them anew."
        )
    if ADDED_SEEDS in edit.changes:
        raise WrongState(
            f"Revision {number} added start URLs, which are queued already; take what they brought "
            "out on the page Queue."
        )
    return edit_crawl(
        crawl,
        {name: before for name, (before, _) in edit.changes.items()},
        by=by,
        revision=revision,
    )


def _edited_order(crawl: CrawlJob, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The order with these fields changed.

    Secrets are unsealed only if they change. Seeds are included only if they change, since their
    check takes long.
    """
    order = {
        name: value
        for name, value in order_of(crawl).items()
        if name not in FetchingPart.model_fields
    }
    if fields.keys().isdisjoint(FETCHING_FIELDS):
        return {**order, "seeds": crawl.seeds[:1], **fields}
    return {**order, **fetching_of(crawl).model_dump(), **fields_with_secrets(crawl, fields)}


def _read_revision(stated: Any) -> int:
    number = None if isinstance(stated, bool) else whole_number(str(stated))
    if number is None:
        raise BadOrder(
            {
                "revision": "must be the number of the revision on which the changes are based; "
                "leave it out to change it anyhow"
            }
        )
    return number


def _check_revision(crawl: CrawlJob, revision: int) -> None:
    if revision != crawl.revision:
        raise WrongState(
            f"{crawl.name} was edited meanwhile: revision {crawl.revision} holds. Look at it, "
            "then edit again."
        )


@transaction.atomic
def _store_edit(
    crawl_id: int,
    values: Mapping[str, Any],
    by: User | None,
    revision: int | None,
    kept_secrets: Set[Secret],
) -> CrawlJob:
    crawl = CrawlJob.objects.select_for_update(no_key=True).get(pk=crawl_id)
    if revision is not None:
        _check_revision(crawl, revision)
    before = order_of(crawl)
    changes = {
        name: (before[name], value)
        for name, value in values.items()
        if name not in FETCHING_FIELDS and before[name] != value
    }
    asking = {name: values[name] for name in FETCHING_FIELDS if name in values}
    recipients = origins_of_secrets(crawl)
    changes |= change_fetching_fields(crawl, asking, kept_secrets) if asking else {}
    if not changes:
        return crawl
    key = rules_key(crawl)
    for name in changes.keys() & set(OF_THE_CRAWL):
        setattr(crawl, name, values[name])
    for part, names in EDITED_PARTS.items():
        setattr(
            crawl,
            part,
            {**getattr(crawl, part), **{name: values[name] for name in names if name in values}},
        )
    crawl.revision += 1
    crawl.save(update_fields=[*OF_THE_CRAWL, *EDITED_PARTS, "fetching", "revision"])
    OrderRevision.objects.create(crawl=crawl, number=crawl.revision, changes=changes, by=by)
    record_action(
        by, crawl, "edited", changes | recipient_changes(recipients, origins_of_secrets(crawl))
    )
    if not changes.keys().isdisjoint(REVISITS):
        order_edited(crawl)
    if latest := crawl.runs.first():
        _apply_to_run(latest, crawl, changes, by, judged_by=key)
    return crawl


def _apply_to_run(
    run: Run,
    crawl: CrawlJob,
    changes: Mapping[str, tuple[Any, Any]],
    by: User | None,
    *,
    judged_by: str,
) -> None:
    """Let the latest run follow an edit, in the edit's transaction. judged_by: the key of the rules
    before the edit.
    """
    if RULING.isdisjoint(changes):
        Run.objects.filter(pk=run.pk, judged_by=judged_by).update(judged_by=rules_key(crawl))
    if run.state in ENDED_STATES:
        return
    if changes.keys() & WEIGHTS and crawl.visit_order == Order.BEST_FIRST:
        # The run's row stays locked until this transaction ends, so URLs that are queued later get
        # the new weights.
        with locked_run(run.pk):
            begin_reranking(run.pk)
    edits = "; ".join(
        f"{name} from {format_value(old)} to {format_value(new)}"
        for name, (old, new) in changes.items()
    )
    write(run.pk, f"Edited by {by or 'the command line'}: {edits}.")

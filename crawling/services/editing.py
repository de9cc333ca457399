"""Change a crawl's order after it was made, even while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from crawling.audit import note
from crawling.errors import BadOrder, WrongState
from crawling.frontier.filtering import rules_key
from crawling.frontier.locking import locked_run
from crawling.frontier.reranking import begin_reranking, rank_some
from crawling.logbook import write
from crawling.models import CrawlJob, OrderRevision, Reranking, Run
from crawling.models.jobs import ENDED_STATES
from crawling.rules.orders import read_order
from crawling.rules.ranking import Order
from crawling.rules.sections.budget import BudgetPart
from crawling.rules.sections.fetching import FetchingPart
from crawling.rules.sections.filters import FiltersPart
from crawling.rules.sections.ordering import OrderingPart
from crawling.services.cloning import order_of
from crawling.services.creating import is_taken, name_is_taken
from crawling.services.maximum import check_max, tell_bank

#: a live run obeys these within a second; the others have shaped its frontier and its place in the bank
OF_THE_CRAWL = ("name", "scope", "max_pages", "max_depth", "max_bytes", "max_seconds", "delay_seconds", "claim")
#: the columns that keep a part of the order each
PARTS: dict[str, tuple[str, ...]] = {
    "filters": tuple(FiltersPart.model_fields),
    "budget": tuple(BudgetPart.model_fields),
    "ordering": tuple(OrderingPart.model_fields),
}
EDITABLE = (*OF_THE_CRAWL, *(name for names in PARTS.values() for name in names))
#: without a change of these, what waits need not be judged anew
RULING = frozenset({"scope", "max_depth", *PARTS["filters"], "host_max_pages", "host_max_bytes", "host_max_seconds"})
#: what waits in a best-first crawl is ranked anew by these
WEIGHTS = {"links_weight", "url_weight", "importance"}


def edit_crawl(crawl: CrawlJob, fields: Mapping[str, Any], *, by: User | None = None, revision: int | None = None) -> CrawlJob:
    """Change the fields named, checked like an order's. Raises BadOrder with a sentence by field, or WrongState if `revision`, on
    which the changes were based, is not the latest any more; then nothing has changed."""
    errors = {name: f"cannot be edited; these can: {', '.join(EDITABLE)}" for name in fields if name not in EDITABLE}
    kept = {name: value for name, value in order_of(crawl).items() if name not in FetchingPart.model_fields}
    order, mistakes = read_order({**kept, "seeds": crawl.seeds[:1], **{name: fields[name] for name in EDITABLE if name in fields}})
    errors |= mistakes
    if "name" in fields and "name" not in errors and (name := str(fields["name"])).strip() != crawl.name and is_taken(name):
        errors |= name_is_taken(name)
    if errors or not order:
        raise BadOrder(errors)
    values = {name: getattr(order, name) for name in EDITABLE if name in fields}
    if "claim" in values:
        values["claim"] = check_max(crawl, order.claim)
        tell_bank(crawl, values["claim"])
    try:
        edited = _edit(crawl.pk, values, by, revision)
    except IntegrityError as error:
        raise BadOrder(name_is_taken(order.name)) from error
    for place in Reranking.objects.filter(run__crawl=edited):
        rank_some(place.run_id)  # a small frontier is ranked at once; the keeper goes on with a large one
    return edited


@transaction.atomic
def _edit(crawl_id: int, values: Mapping[str, Any], by: User | None, revision: int | None) -> CrawlJob:
    crawl = CrawlJob.objects.select_for_update(no_key=True).get(pk=crawl_id)
    if revision is not None and revision != crawl.revision:
        raise WrongState(f"{crawl.name} was edited meanwhile: revision {crawl.revision} holds. Look at it, then edit again.")
    before = order_of(crawl)
    changes = {name: (before[name], value) for name, value in values.items() if before[name] != value}
    if not changes:
        return crawl
    key = rules_key(crawl)
    for name in changes.keys() & set(OF_THE_CRAWL):
        setattr(crawl, name, values[name])
    for part, names in PARTS.items():
        setattr(crawl, part, {**getattr(crawl, part), **{name: values[name] for name in names if name in values}})
    crawl.revision += 1
    crawl.save(update_fields=[*OF_THE_CRAWL, *PARTS, "revision"])
    OrderRevision.objects.create(crawl=crawl, number=crawl.revision, changes=changes, by=by)
    note(by, crawl, "edited", changes)
    latest = crawl.runs.first()
    if latest and RULING.isdisjoint(changes):
        Run.objects.filter(pk=latest.pk, judged_by=key).update(judged_by=rules_key(crawl))
    if latest and latest.state not in ENDED_STATES:
        if changes.keys() & WEIGHTS and crawl.visit_order == Order.BEST_FIRST:
            with locked_run(latest.pk):  # to this transaction's end: whoever queues URLs after it reads the new weights
                begin_reranking(latest.pk)
        told = "; ".join(f"{name} from {_word(old)} to {_word(new)}" for name, (old, new) in changes.items())
        write(latest.pk, f"Edited by {by or 'the command line'}: {told}.")
    return crawl


def _word(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "no limit" if value is None else str(value)

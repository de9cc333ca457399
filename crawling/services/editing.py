"""Change a crawl's order after it was made, even while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from crawling.audit import note
from crawling.errors import BadOrder
from crawling.frontier.locking import locked_run
from crawling.frontier.reranking import begin_reranking, rank_some
from crawling.logbook import write
from crawling.models import CrawlJob, Reranking
from crawling.models.jobs import ENDED_STATES
from crawling.rules.orders import read_order
from crawling.rules.ranking import Order
from crawling.rules.sections.fetching import FetchingPart
from crawling.rules.sections.ordering import OrderingPart
from crawling.services.cloning import order_of
from crawling.services.creating import is_taken, name_is_taken

#: a live run obeys these within a second; the others have shaped its frontier and its place in the bank
EDITABLE = ("name", "max_pages", "max_depth", "max_bytes", "max_seconds", "delay_seconds", *OrderingPart.model_fields)
#: what waits in a best-first crawl is ranked anew by these
WEIGHTS = {"links_weight", "url_weight", "importance"}


def edit_crawl(crawl: CrawlJob, fields: Mapping[str, Any], *, by: User | None = None) -> CrawlJob:
    """Change the fields named, checked like an order's. Raises BadOrder with a sentence by field; then nothing has changed."""
    errors = {name: f"cannot be edited; these can: {', '.join(EDITABLE)}" for name in fields if name not in EDITABLE}
    kept = {name: value for name, value in order_of(crawl).items() if name not in FetchingPart.model_fields}
    order, mistakes = read_order({**kept, "seeds": crawl.seeds[:1], **{name: fields[name] for name in EDITABLE if name in fields}})
    errors |= mistakes
    if "name" in fields and "name" not in errors and (name := str(fields["name"])).strip() != crawl.name and is_taken(name):
        errors |= name_is_taken(name)
    if errors or not order:
        raise BadOrder(errors)
    try:
        edited = _edit(crawl.pk, {name: getattr(order, name) for name in EDITABLE if name in fields}, by)
    except IntegrityError as error:
        raise BadOrder(name_is_taken(order.name)) from error
    for place in Reranking.objects.filter(run__crawl=edited):
        rank_some(place.run_id)  # a small frontier is ranked at once; the keeper goes on with a large one
    return edited


@transaction.atomic
def _edit(crawl_id: int, values: Mapping[str, Any], by: User | None) -> CrawlJob:
    crawl = CrawlJob.objects.select_for_update(no_key=True).get(pk=crawl_id)
    before = order_of(crawl)
    changes = {name: (before[name], value) for name, value in values.items() if before[name] != value}
    if not changes:
        return crawl
    for name, value in values.items():
        if name in OrderingPart.model_fields:
            crawl.ordering = {**crawl.ordering, name: value}
        else:
            setattr(crawl, name, value)
    crawl.save()
    note(by, crawl, "edited", changes)
    latest = crawl.runs.first()
    if latest and latest.state not in ENDED_STATES:
        if changes.keys() & WEIGHTS and crawl.visit_order == Order.BEST_FIRST:
            with locked_run(latest.pk):  # to this transaction's end: whoever queues URLs after it reads the new weights
                begin_reranking(latest.pk)
        told = "; ".join(f"{name} from {_word(old)} to {_word(new)}" for name, (old, new) in changes.items())
        write(latest.pk, f"Edited by {by or 'the command line'}: {told}.")
    return crawl


def _word(value: object) -> str:
    return "no limit" if value is None else str(value)

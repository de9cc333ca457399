"""Change a crawl's order after it was made, even while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from crawling.audit import note
from crawling.errors import BadOrder
from crawling.logbook import write
from crawling.models import CrawlJob
from crawling.models.jobs import ENDED_STATES
from crawling.rules.orders import read_order
from crawling.services.cloning import order_of
from crawling.services.creating import is_taken, name_is_taken
from crawling.services.maximum import check_max, tell_bank

#: a live run obeys these within a second; the others have shaped its frontier and its place in the bank
EDITABLE = ("name", "max_pages", "max_depth", "max_bytes", "max_seconds", "delay_seconds", "claim")


def edit_crawl(crawl: CrawlJob, fields: Mapping[str, Any], *, by: User | None = None) -> CrawlJob:
    """Change the fields named, checked like an order's. Raises BadOrder with a sentence by field; then nothing has changed."""
    errors = {name: f"cannot be edited; these can: {', '.join(EDITABLE)}" for name in fields if name not in EDITABLE}
    order, mistakes = read_order(
        {**order_of(crawl), "seeds": crawl.seeds[:1], **{name: fields[name] for name in EDITABLE if name in fields}}
    )
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
        return _edit(crawl.pk, values, by)
    except IntegrityError as error:
        raise BadOrder(name_is_taken(order.name)) from error


@transaction.atomic
def _edit(crawl_id: int, values: Mapping[str, Any], by: User | None) -> CrawlJob:
    crawl = CrawlJob.objects.select_for_update(no_key=True).get(pk=crawl_id)
    changes = {name: (getattr(crawl, name), value) for name, value in values.items() if getattr(crawl, name) != value}
    if not changes:
        return crawl
    for name, value in values.items():
        setattr(crawl, name, value)
    crawl.save(update_fields=list(values))
    note(by, crawl, "edited", changes)
    latest = crawl.runs.first()
    if latest and latest.state not in ENDED_STATES:
        told = "; ".join(f"{name} from {_word(old)} to {_word(new)}" for name, (old, new) in changes.items())
        write(latest.pk, f"Edited by {by or 'the command line'}: {told}.")
    return crawl


def _word(value: object) -> str:
    return "no limit" if value is None else str(value)

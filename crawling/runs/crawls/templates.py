"""Keep a crawl's order as a template, and create crawls from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from pydantic import TypeAdapter, ValidationError

from crawling.base.audit import record_action
from crawling.base.errors import BadOrder
from crawling.installation.permissions import is_restricted
from crawling.models import CrawlJob, DeletedItem, DeletedKind, OrderTemplate
from crawling.orders.order import read_order
from crawling.orders.sections.fetching import SECRET_FIELDS
from crawling.orders.sections.reading import Name
from crawling.runs.crawls.creation import create_crawl, order_of, unsaved_crawl
from crawling.runs.crawls.deleted_items import keep_deleted

#: a login is useless without its fields, which are secret
LEFT_OUT = {"name", "login_url", *SECRET_FIELDS}


def save_template(crawl: CrawlJob, name: str, *, by: User | None = None) -> OrderTemplate:
    """Keep the crawl's order and tags under a name, without its secrets. Raises BadOrder."""
    try:
        name = TypeAdapter(Name).validate_python(name.strip())
    except ValidationError as error:
        raise BadOrder({"name": "must be one line of 1 to 100 characters"}) from error
    order = {field: value for field, value in order_of(crawl).items() if field not in LEFT_OUT}
    try:
        with transaction.atomic():
            template = OrderTemplate.objects.create(
                name=name, order=order, tags=crawl.tags, created_by=by
            )
            record_action(by, template, "created", {"crawl": (None, crawl.name)})
    except IntegrityError as error:
        raise BadOrder(
            {
                "name": f"there is a template named {name!r} already; remove that one first, or "
                "choose another name"
            }
        ) from error
    return template


@transaction.atomic
def remove_template(template: OrderTemplate, *, by: User | None = None) -> DeletedItem:
    """Delete a template, which can be restored for a while. Crawls created from it stay.

    The user who made it and administrators may do so. Raises PermissionDenied.
    """
    if not may_remove(template, by):
        raise PermissionDenied(
            f"{template.created_by} made the template {template.name}: its maker deletes it, or an "
            "administrator."
        )
    content = {
        "order": template.order,
        "tags": template.tags,
        "created_by": template.created_by_id,
    }
    item = keep_deleted(DeletedKind.TEMPLATE, template.name, content, by=by)
    record_action(by, template, "deleted", {"order": (template.order, None)})
    template.delete()
    return item


def may_remove(template: OrderTemplate, by: User | None) -> bool:
    """Whether a user whose role permits the deletion of templates may delete this one."""
    return template.created_by in (None, by) or not is_restricted(by)


def templates_for(user: User) -> list[tuple[OrderTemplate, bool]]:
    """All templates, each with whether the user may delete it, if the user's role permits that."""
    is_free = not is_restricted(user)
    rows = OrderTemplate.objects.select_related("created_by")
    return [(row, is_free or row.created_by in (None, user)) for row in rows]


def create_from_template(
    template: OrderTemplate, fields: Mapping[str, Any], *, by: User | None = None
) -> CrawlJob:
    """Create a crawl from the template's order and tags, with these fields changed, including the
    name. Raises BadOrder.
    """
    return create_crawl({"tags": template.tags, **template.order, **fields}, by=by)


def crawl_of_template(template: OrderTemplate) -> CrawlJob:
    """An unsaved crawl with the template's order.

    Raises BadOrder if the template is no longer a valid order.
    """
    order, errors = read_order({**template.order, "name": "template"})
    if order is None:
        raise BadOrder(errors)
    crawl = unsaved_crawl(order, dict(order.claim))
    crawl.name, crawl.tags = template.name, template.tags
    return crawl

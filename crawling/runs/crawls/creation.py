"""Create crawls, also as clones. A program's repeated request creates a crawl only once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from pydantic import BaseModel

from allocation.models import Pool
from crawling.base.audit import record_action
from crawling.base.errors import BadOrder, KeyReused
from crawling.datasets.example_pages import missing_examples
from crawling.installation.pools import capacity_of, default_pool, pool_named
from crawling.models import CrawlJob, Team
from crawling.models.jobs import NAMES_DIFFER
from crawling.orders.claims import ARCHIVE_WRITERS, claim_with_browsers, complete_claim
from crawling.orders.order import COLUMNS, PARTS, CrawlOrder, read_claim, read_order
from crawling.orders.sections.fetching import masked_names, part_without_secrets
from crawling.orders.seeds import BadTags, read_tags, read_typed
from crawling.runs.crawls.extractor_rules import order_with_named_rules, restored_order
from crawling.runs.crawls.fetching_section import (
    Granted,
    fetching_column,
    fetching_of,
    fields_without_secrets,
    origins_granted_to_seeds,
    origins_of_secrets,
    recipient_changes,
)
from crawling.runs.crawls.tags import set_tags
from crawling.runs.grants import share_limits
from crawling.runs.seed_checks import (
    seed_errors,
)
from crawling.web.addresses import BadUrl, read_address

LONGEST_NAME = 100
#: the longest part of a name that is kept in front of a suffix, in characters
STEM = 90


def check_order(
    fields: Mapping[str, Any],
    *,
    by: User | None = None,
    own_pool: Pool | None = None,
    is_restored: bool = False,
    has_ended: bool = False,
) -> tuple[CrawlOrder, dict[str, int]]:
    """The order and its claim for all classes, as this user may create a crawl from them now.

    own_pool: used instead of the pool that the order names. is_restored: the order comes from a
    checkpoint, so its example pages may be in files that come with it. has_ended: the run of the
    checkpoint has ended, so its seeds are not checked. Raises BadOrder with a sentence for every
    wrong field.
    """
    order, errors = read_order(fields)
    wanted = order.claim if order else read_claim(fields.get("claim"))
    team = order.team if order else ""
    try:
        pool = own_pool or pool_named(order.pool if order else "")
    except BadOrder as error:
        pool, errors = default_pool(), errors | error.errors
    capacity, limits = capacity_of(pool), share_limits(pool, team)
    claim, claim_errors = complete_claim(wanted, capacity, limits)
    errors |= claim_errors | team_errors(team, by)
    if order:
        errors |= writer_errors(order, claim)
        claim, browser_errors = claim_with_browsers(claim, order, capacity, limits)
        errors |= {} if has_ended else browser_errors
    if "name" not in errors and is_crawl_name_taken(str(fields["name"])):
        errors = taken_name_error(str(fields["name"])) | errors
    if order:
        errors |= login_errors(order) | ({} if has_ended else seed_errors(order))
        errors |= {} if is_restored else example_errors(order)
        try:
            order = restored_order(order) if is_restored else order_with_named_rules(order)
        except BadOrder as error:
            errors |= error.errors
    if errors or not order:
        raise BadOrder(errors)
    return order, claim


def create_crawl(
    fields: Mapping[str, Any],
    *,
    by: User | None = None,
    idempotency_key: str = "",
    own_pool: Pool | None = None,
    is_restored: bool = False,
    has_ended: bool = False,
    given_for: Granted | None = None,
) -> CrawlJob:
    """Create a crawl from an order's fields and `tags`, a list.

    own_pool: the pool of an experiment, which no order can name. is_restored: the order comes from
    a checkpoint. has_ended: the run of the checkpoint has ended. given_for: the origins to which
    the order's secrets may be sent; None for the origins of its seeds.

    Raises BadOrder as `check_order` does; then no crawl is created.
    """
    tags, wrong_tags = _read_given_tags(fields)
    ordered = {name: value for name, value in fields.items() if name != "tags"}
    try:
        order, claim = check_order(
            ordered, by=by, own_pool=own_pool, is_restored=is_restored, has_ended=has_ended
        )
    except BadOrder as error:
        raise BadOrder({**error.errors, **wrong_tags}) from error
    if wrong_tags:
        raise BadOrder(wrong_tags)
    crawl = unsaved_crawl(order, claim, given_for)
    crawl.tags = tags
    crawl.pool = own_pool.name if own_pool else crawl.pool
    crawl.created_by, crawl.idempotency_key = by, idempotency_key
    crawl.idempotency_digest = request_digest(fields) if idempotency_key else ""
    try:
        with transaction.atomic():
            crawl.save()
            record_action(by, crawl, "created", recipient_changes({}, origins_of_secrets(crawl)))
            return crawl
    except IntegrityError as error:
        if NAMES_DIFFER not in str(error):
            raise
        raise BadOrder(taken_name_error(order.name)) from error


def _read_given_tags(fields: Mapping[str, Any]) -> tuple[list[str], dict[str, str]]:
    """The tags among an order's fields, and the mistakes in them."""
    given = fields.get("tags", [])
    if not isinstance(given, list) or not all(isinstance(tag, str) for tag in given):
        return [], {"tags": "must be a list of words"}
    try:
        return read_tags(",".join(given)), {}
    except BadTags as error:
        return [], {"tags": str(error)}


def unsaved_crawl(
    order: CrawlOrder, claim: dict[str, int], given_for: Granted | None = None
) -> CrawlJob:
    """The row of an order, not saved. given_for: as for `create_crawl`."""
    if given_for is None:
        given_for = origins_granted_to_seeds(order, order.seeds)
    own = {name: getattr(order, name) for name in COLUMNS}
    parts = {column: part_as_json(order, part) for column, part in PARTS.items()}
    fetching = fetching_column(order, given_for)
    return CrawlJob(visit_order=order.order, claim=claim, fetching=fetching, **own, **parts)


def part_as_json(order: CrawlOrder, part: type[BaseModel]) -> dict[str, Any]:
    """The fields of one part of an order, as its column stores them."""
    return {name: getattr(order, name) for name in part.model_fields}


def writer_errors(order: CrawlOrder, claim: dict[str, int]) -> dict[str, str]:
    """The mistakes in the claim of an archive writer, which an archive needs. Without an archive,
    set the writers in `claim` to the order's own number.
    """
    if not order.archive:
        if ARCHIVE_WRITERS in claim:
            claim[ARCHIVE_WRITERS] = order.claim.get(ARCHIVE_WRITERS, 0)
        return {}
    if claim.get(ARCHIVE_WRITERS, 1) >= 1:
        return {}
    return {
        f"claim.{ARCHIVE_WRITERS}": "must be 1 or more: answers are archived; or say that they are "
        "not to be"
    }


def example_errors(order: CrawlOrder, crawl_id: int | None = None) -> dict[str, str]:
    """The mistake of a topic if its example pages are not stored. crawl_id: the crawl's id, if
    there is a crawl.
    """
    missing = missing_examples(order.topic, crawl_id=crawl_id)
    told = "no HTML page is stored at {}; crawl it first, or give its text"
    return {"topic": told.format(", ".join(missing))} if missing else {}


def team_errors(name: str, by: User | None) -> dict[str, str]:
    """The mistake of a team that the user may not name. Users may name their own teams,
    administrators of pools and the command line (None) any team.
    """
    if not name:
        return {}
    team = Team.objects.filter(name=name).first()
    if team is None:
        names = ", ".join(Team.objects.values_list("name", flat=True)) or "none"
        return {"team": f"there is no team {name!r}; there are {names}"}
    if by and not by.has_perm("allocation.change_pool") and not team.members.contains(by):
        return {"team": f"you are no member of {name}; ask an administrator, or choose another"}
    return {}


def is_crawl_name_taken(name: str) -> bool:
    """Whether a crawl has this name, which must be a valid one.

    The answer may be out of date at once: if two users choose a name at the same time, the table's
    constraint decides.
    """
    return CrawlJob.objects.filter(name=name.strip()).exists()


def taken_name_error(name: str) -> dict[str, str]:
    return {"name": f"there is a crawl named {name.strip()!r} already; choose another name"}


def free_name(wanted: str, suffix: str = "") -> str:
    """The wanted name with this suffix, cut to the allowed length, with a number if the name is
    taken.
    """
    wanted = (wanted[:STEM].strip() or "crawl") + suffix
    taken = set(CrawlJob.objects.filter(name__startswith=wanted).values_list("name", flat=True))
    return next(
        name
        for number in range(1, len(taken) + 2)
        if (name := wanted if number == 1 else f"{wanted} {number}") not in taken
    )


def name_from_seeds(seeds: object) -> str:
    """A free name for a crawl created without one: the first seed's host."""
    try:
        host = read_typed(str(seeds[0])).host_key if isinstance(seeds, list) and seeds else "crawl"
    except BadUrl:
        host = "crawl"
    return free_name(host)


def request_digest(fields: Mapping[str, Any]) -> str:
    """A hash of the request that does not depend on the order of fields."""
    return sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


def login_errors(order: CrawlOrder) -> dict[str, str]:
    """The mistakes of a login. A login takes place before the first page of its own host, and is
    valid only on that host.
    """
    hosts = {read_address(seed).origin for seed in order.seeds}
    if order.login_url is None or read_address(order.login_url).origin in hosts:
        return {}
    return {
        "login_url": f"must be on the site of a start URL ({', '.join(sorted(hosts)[:3])}): a "
        "login counts for its own site only"
    }


def order_of(crawl: CrawlJob) -> dict[str, Any]:
    """The order that would create this crawl again: the fields of `crawling.orders.order`, with
    masked secrets.
    """
    order = {name: getattr(crawl, name) for name in COLUMNS}
    order |= {
        "order": crawl.visit_order,
        "claim": dict(crawl.claim),
        **fields_without_secrets(crawl),
    }
    for column, part in PARTS.items():
        # an order may be older than a field of its part
        order |= part().model_dump() | getattr(crawl, column)
    return order


def clone_crawl(crawl: CrawlJob, *, name: str | None = None, by: User | None = None) -> CrawlJob:
    """Create a draft with the same order and tags, checked by today's rules.

    Its secrets are copied for the crawl's ownerand the command line, for the same origins. For
    other users `withheld_fields` names the secrets that are left out. Raises BadOrder and
    SealBroken.
    """
    part = fetching_of(crawl)
    part = part_without_secrets(part) if withheld_fields(by, crawl) else part
    copy = create_crawl(
        {**order_of(crawl), **part.model_dump(), "name": name or free_name(crawl.name, " copy")},
        by=by,
        given_for={
            secret: origins_of_secrets(crawl).get(secret, frozenset()) for secret in part.secrets()
        },
    )
    return set_tags(copy, crawl.tags, by=by)


def withheld_fields(user: User | None, crawl: CrawlJob) -> list[str]:
    """The fields of an order that a clone by this user lacks: the owner gave their secrets only to
    this crawl.
    """
    return (
        []
        if user is None or user == crawl.created_by
        else sorted(masked_names(fields_without_secrets(crawl)))
    )


def create_idempotently(
    fields: Mapping[str, Any], *, by: User, idempotency_key: str
) -> tuple[CrawlJob, bool]:
    """Create a crawl, or return the crawl that this user's request with the same key has created.
    The second value is true for a new crawl.

    Raises KeyReused if that request had other fields, and the errors of `create_crawl`. Without a
    key, a new crawl is always created.
    """
    if made := _crawl_made_before(fields, by, idempotency_key):
        return made, False
    try:
        return create_crawl(fields, by=by, idempotency_key=idempotency_key), True
    except (BadOrder, IntegrityError):
        # The same request may arrive twice at once: then the other request has taken the name, or
        # the key.
        if made := _crawl_made_before(fields, by, idempotency_key):
            return made, False
        raise


def _crawl_made_before(fields: Mapping[str, Any], by: User, key: str) -> CrawlJob | None:
    made = CrawlJob.objects.filter(created_by=by, idempotency_key=key).first() if key else None
    if made and made.idempotency_digest != request_digest(fields):
        raise KeyReused(
            f"The key {key!r} has made crawl {made.pk} from another order; a new order needs a "
            "new key."
        )
    return made

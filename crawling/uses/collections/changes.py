"""Creates and edits collections, and adds and removes members, for users who may act on the
collection: its owner, members of its team, administrators. Users can add only crawls on which they
may act, and pages of such crawls. For a collection shows titles to people without an account, and
gives out archived answers unchanged, with the cookies that they set.
"""

from __future__ import annotations

from collections.abc import Collection as Numbers
from collections.abc import Sequence
from typing import NamedTuple

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.utils import timezone

from allocation.wording import whole_number
from crawling.base.audit import record_action
from crawling.base.errors import BadOrder, NotFound, WrongState
from crawling.installation.permissions import crawls_acted_on, crawls_within_reach, refusal_in_words
from crawling.models import CrawlJob, Page
from crawling.runs.crawls.creation import team_errors
from crawling.uses.collections.models import Collection, CollectionMember

LONGEST_NAME, LONGEST_DESCRIPTION = 100, 2_000
#: the most members of one collection
MOST_MEMBERS = 5_000


class CollectionFields(NamedTuple):
    name: str
    description: str = ""
    team: str = ""


class MembersAdded(NamedTuple):
    added: Sequence[CollectionMember]
    #: the number of members that were in the collection already
    known: int
    #: a sentence for each crawl that the user may not act on
    refused: Sequence[str]


def may_change(user: User | None, collection: Collection) -> bool:
    """Whether a user whose role permits an action may perform it on this collection."""
    return Collection.objects.filter(crawls_within_reach(user), pk=collection.pk).exists()


def require_change(user: User | None, collection: Collection) -> None:
    """Raises PermissionDenied."""
    if not may_change(user, collection):
        raise PermissionDenied(
            f"You may read the collection {collection}, and no more: its owner, the members of its "
            "team and administrators change it."
        )


def get_collection(number: int) -> Collection:
    """Raises NotFound."""
    found = Collection.objects.select_related("created_by").filter(pk=number).first()
    if found is None:
        raise NotFound(f"There is no collection {number}.")
    return found


def find_collection(name_or_number: str) -> Collection:
    """Raises NotFound."""
    found = Collection.objects.filter(name=name_or_number).first()
    number = whole_number(name_or_number)
    if found is None and number is None:
        raise NotFound(f"There is no collection {name_or_number[:LONGEST_NAME]!r}.")
    return found or get_collection(number or 0)


def create_collection(fields: CollectionFields, *, by: User | None) -> Collection:
    """Raises BadOrder."""
    checked = _checked_fields(fields, by)
    try:
        with transaction.atomic():
            made = Collection.objects.create(created_by=by, **checked._asdict())
            record_action(by, made, "created")
    except IntegrityError as error:
        raise _name_taken_error(checked.name) from error
    return made


def edit_collection(
    collection: Collection, fields: CollectionFields, *, by: User | None
) -> Collection:
    """Change a collection. Raises BadOrder or PermissionDenied."""
    require_change(by, collection)
    checked = _checked_fields(fields, by, before=collection.team)
    before = {name: getattr(collection, name) for name in checked._fields}
    changes = {
        name: (before[name], value)
        for name, value in checked._asdict().items()
        if value != before[name]
    }
    try:
        with transaction.atomic():
            rows = Collection.objects.filter(pk=collection.pk)
            rows.update(changed_at=timezone.now(), **checked._asdict())
            record_action(by, collection, "edited", changes)
    except IntegrityError as error:
        raise _name_taken_error(checked.name) from error
    collection.refresh_from_db()
    return collection


def add_members(
    collection: Collection,
    *,
    crawls: Numbers[int] = (),
    pages: Numbers[int] = (),
    by: User | None,
) -> MembersAdded:
    """Add the crawls and stored pages with these ids, as far as the user may act on them.

    Raises PermissionDenied, NotFound for unknown ids, and WrongState if there would be too many
    members.
    """
    require_change(by, collection)
    wanted = {one.pk: one for one in CrawlJob.objects.filter(pk__in=crawls)}
    stored = Page.objects.filter(pk__in=pages, run__removal_asked_at=None)
    found = list(stored.filter(archive_file__isnull=False).select_related("run__crawl"))
    if missing := set(crawls) - wanted.keys():
        raise NotFound(f"There is no crawl {min(missing)}.")
    if missing := set(pages) - {page.pk for page in found}:
        raise NotFound(f"No page {min(missing)} is archived.")
    concerned = wanted | {page.run.crawl_id: page.run.crawl for page in found}
    own = crawls_acted_on(by, concerned)
    refused = [refusal_in_words(one) for pk, one in concerned.items() if pk not in own]
    if concerned and not own:
        raise PermissionDenied(refused[0])
    rows = [CollectionMember(crawl=one) for pk, one in wanted.items() if pk in own]
    rows += [
        CollectionMember(crawl=page.run.crawl, run=page.run, page=page.pk)
        for page in found
        if page.run.crawl_id in own
    ]
    added = _add_rows(collection, rows, by)
    return MembersAdded(added, len(rows) - len(added), refused)


def _add_rows(
    collection: Collection, rows: Sequence[CollectionMember], by: User | None
) -> list[CollectionMember]:
    with transaction.atomic():
        # the lock on the collection keeps two simultaneous requests within the limit
        locked = Collection.objects.select_for_update().filter(pk=collection.pk).first()
        if locked is None:
            raise WrongState("The collection was deleted meanwhile.")
        known = set(locked.members.values_list("crawl", "page"))
        new = [row for row in rows if (row.crawl_id, row.page) not in known]
        if len(known) + len(new) > MOST_MEMBERS:
            raise WrongState(f"A collection has at most {MOST_MEMBERS:,} members.")
        for row in new:
            row.collection, row.added_by = locked, by
        made = CollectionMember.objects.bulk_create(new)
        if new:
            Collection.objects.filter(pk=locked.pk).update(changed_at=timezone.now())
            record_action(
                by, locked, "added members", {"members": (len(known), len(known) + len(new))}
            )
    return made


def remove_members(
    collection: Collection, members: Numbers[int], *, by: User | None
) -> list[CollectionMember]:
    """Remove members of a collection by their ids. Return the removed members. Raises
    PermissionDenied.
    """
    require_change(by, collection)
    with transaction.atomic():
        rows = list(collection.members.filter(pk__in=members))
        if rows:
            count = collection.members.count()
            collection.members.filter(pk__in=members).delete()
            Collection.objects.filter(pk=collection.pk).update(changed_at=timezone.now())
            record_action(
                by, collection, "removed members", {"members": (count, count - len(rows))}
            )
    return rows


def subject_of(collection: Collection) -> str:
    return f"collection {collection.pk}"


def _checked_fields(
    fields: CollectionFields, by: User | None, before: str = ""
) -> CollectionFields:
    """The fields in their stored form. before: the collection's present team, which may stay.
    Raises BadOrder.
    """
    name, errors = fields.name.strip(), dict[str, str]()
    about = "\n".join(fields.description.replace("\0", "").splitlines()).strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        errors["name"] = f"must be one line of 1 to {LONGEST_NAME} characters"
    if len(about) > LONGEST_DESCRIPTION:
        errors["description"] = f"must have at most {LONGEST_DESCRIPTION:,} characters"
    if fields.team and fields.team != before:
        errors |= team_errors(fields.team, by)
    if errors:
        raise BadOrder(errors)
    return CollectionFields(name, about, fields.team)


def _name_taken_error(name: str) -> BadOrder:
    return BadOrder({"name": f"there is a collection named {name} already"})

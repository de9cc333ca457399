"""Deleted collections. They are kept for a day with their members and links, so that they can be
restored. Meanwhile a link opens nothing. The file is deleted at once, since it can be made again.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from crawling.base.audit import record_action
from crawling.base.errors import NotFound, WrongState
from crawling.installation.permissions import crawls_within_reach
from crawling.jobs.removal import delete_jobs
from crawling.models import BackgroundJob
from crawling.models.deleted import RESTORABLE
from crawling.uses.collections.changes import LONGEST_NAME, require_change, subject_of
from crawling.uses.collections.models import Collection


def delete_collection(collection: Collection, *, by: User | None) -> None:
    """Delete a collection with its links and its file. Its crawls and pages stay. The collection
    can be restored for a day. Raises PermissionDenied.
    """
    require_change(by, collection)
    with transaction.atomic():
        record_action(by, collection, "deleted", {"members": (collection.members.count(), None)})
        delete_jobs(BackgroundJob.objects.filter(subject=subject_of(collection)))
        Collection.objects.filter(pk=collection.pk).update(removal_asked_at=timezone.now())


def restore_collection(number: int, *, by: User | None) -> Collection:
    """Restore a collection with its members and links. Raises NotFound, PermissionDenied, and
    WrongState if there is another one of its name.
    """
    try:
        with transaction.atomic():
            found = _lock_deleted_collection(number)
            if not Collection.all_objects.filter(crawls_within_reach(by), pk=number).exists():
                require_change(by, found)
            Collection.all_objects.filter(pk=number).update(removal_asked_at=None)
            record_action(by, found, "restored", {"members": (None, found.members.count())})
    except IntegrityError as error:
        told = "There is another collection of that name; rename that one first."
        raise WrongState(told) from error
    return Collection.objects.get(pk=number)


def restore_by_name(name_or_number: str) -> Collection:
    """Restore the last deleted collection with this name or number, for the command line. Raises
    NotFound, WrongState.
    """
    for one in deleted_collections():
        if name_or_number in (one.name, str(one.pk)):
            return restore_collection(one.pk, by=None)
    raise NotFound(f"There is no deleted collection {name_or_number[:LONGEST_NAME]!r}.")


def remove_collection_now(number: int, *, by: User | None) -> None:
    """Delete a deleted collection permanently. Raises NotFound."""
    with transaction.atomic():
        found = _lock_deleted_collection(number)
        record_action(by, found, "deleted permanently")
        found.delete()


def forget_deleted_collections() -> None:
    """Delete collections permanently that can no longer be restored."""
    long_ago = timezone.now() - RESTORABLE
    with transaction.atomic():
        # Django's deletion by ids would not check the condition again after a wait for the lock,
        # and would delete a collection that was restored meanwhile
        old = Collection.all_objects.filter(removal_asked_at__lte=long_ago).order_by("pk")
        gone = [one.pk for one in old.select_for_update()]
        Collection.all_objects.filter(pk__in=gone).delete()


def deleted_collections() -> QuerySet[Collection]:
    """The collections that can be restored, the latest deletion first."""
    since = timezone.now() - RESTORABLE
    return Collection.all_objects.filter(removal_asked_at__gt=since).order_by("-removal_asked_at")


def _lock_deleted_collection(number: int) -> Collection:
    """The deleted collection. Its row is locked until the transaction ends. Raises NotFound."""
    found = deleted_collections().select_for_update().filter(pk=number).first()
    if found is None:
        raise NotFound(f"There is no deleted collection {number}.")
    return found

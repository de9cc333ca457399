"""Share links of collections, for people without an account. A link stops working once its creator
may no longer change the collection. It never shows crawls on which its creator may not act.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from crawling.base.audit import record_action
from crawling.base.errors import NotFound, WrongState
from crawling.installation.permissions import STEER
from crawling.runs.crawls.share_links import link_of, make_secret_link, note_opening
from crawling.uses.collections.changes import may_change, require_change
from crawling.uses.collections.models import Collection, CollectionLink


def create_link(
    collection: Collection, *, days: int, by: User | None
) -> tuple[CollectionLink, str]:
    """Create a link and return it with its token, which cannot be read again later.

    Raises BadOrder, PermissionDenied, WrongState.
    """
    require_change(by, collection)
    with transaction.atomic():
        # the lock on the collection keeps two simultaneous requests within the limit
        locked = Collection.objects.select_for_update().filter(pk=collection.pk).first()
        if locked is None:
            raise WrongState("The collection was deleted meanwhile.")
        link = CollectionLink(collection=locked)
        own = CollectionLink.objects.filter(collection=locked)
        return make_secret_link(own, link, locked, days=days, by=by)


def revoke_link(collection: Collection, number: int, *, by: User | None) -> None:
    """Revoke a link. Raises NotFound or PermissionDenied."""
    require_change(by, collection)
    with transaction.atomic():
        link = CollectionLink.objects.filter(collection=collection, pk=number).first()
        if link is None:
            raise NotFound(f"The collection has no share link {number}.")
        record_action(by, collection, "revoked a share link", {"link": (link.pk, None)})
        link.delete()


def links_of(collection: Collection) -> Sequence[CollectionLink]:
    """The links that have not expired, the oldest first."""
    alive = CollectionLink.objects.filter(collection=collection, expires_at__gt=timezone.now())
    return list(alive.select_related("created_by"))


def links_by(user: User) -> Sequence[CollectionLink]:
    """The links that a user has created and that have not expired, with their collections."""
    alive = CollectionLink.objects.filter(created_by=user, expires_at__gt=timezone.now())
    kept = alive.filter(collection__removal_asked_at=None)
    return list(kept.select_related("collection"))


def hand_link_over(link: CollectionLink, receiver: User, by: User | None) -> None:
    """Give a link to another user, so that it keeps working. The caller is in a transaction."""
    owner = {"owner": (link.created_by, receiver)}
    record_action(by, link.collection, "handed a share link over", owner)
    CollectionLink.objects.filter(pk=link.pk).update(created_by=receiver)


def open_link_ids(links: Sequence[CollectionLink]) -> set[int]:
    """The ids of the links that still work."""
    return {link.pk for link in links if _may_still_share(link)}


def shared_collection(token: str) -> CollectionLink | None:
    """The link of a token, with its collection. None if the token is unknown, expired or revoked,
    or if its user may no longer share the collection.
    """
    link = link_of(_links_with_collections(), token)
    if link is None or not _may_still_share(link):
        return None
    note_opening(link)
    return link


def working_link(number: int) -> CollectionLink | None:
    """The link with this id and its collection. None once the link no longer works."""
    link = _links_with_collections().filter(pk=number, expires_at__gt=timezone.now()).first()
    return link if link and _may_still_share(link) else None


def _links_with_collections() -> QuerySet[CollectionLink]:
    links = CollectionLink.objects.filter(collection__removal_asked_at=None)
    return links.select_related("collection", "created_by")


def _may_still_share(link: CollectionLink) -> bool:
    maker = link.created_by
    if maker is None:
        return True
    return maker.is_active and maker.has_perm(STEER) and may_change(maker, link.collection)

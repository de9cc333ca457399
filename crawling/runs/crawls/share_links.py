"""Create, find, hand over and revoke the links that show one crawl's report without a log-in. A
link stops working once its creator may not act on the crawl any more. Uses of crawls offer further
access without an account, such as feeds and mailboxes; each stops with the account of its user,
unless another user takes it over.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from operator import attrgetter
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from crawling.base.audit import record_action
from crawling.base.errors import BadOrder, WrongState
from crawling.base.use import offered_by_uses
from crawling.installation.permissions import may_act, may_still_share
from crawling.models import CrawlJob, SecretLink, ShareLink

L = TypeVar("L", bound=SecretLink)
USUAL_DAYS, MOST_DAYS = 7, 90
#: the most links to one crawl, or another subject, that have not expired
MOST_LINKS = 20
#: the shortest time between two writes of the time of use, so that reloading a page does not write
OPENED_EVERY = timedelta(minutes=1)


def create_share_link(crawl: CrawlJob, *, days: int, by: User | None) -> tuple[ShareLink, str]:
    """Create a link and return it with its token, which cannot be read again.

    Raises BadOrder and WrongState.
    """
    with transaction.atomic():
        # the lock on the crawl keeps two simultaneous requests within the limit
        locked = CrawlJob.objects.select_for_update(no_key=True).filter(pk=crawl.pk).first()
        if locked is None:
            raise WrongState(f"{crawl.name} is being deleted.")
        own = ShareLink.objects.filter(crawl=locked)
        return make_secret_link(own, ShareLink(crawl=locked), locked, days=days, by=by)


def make_secret_link(
    others: QuerySet[L], link: L, subject: Model, *, days: int, by: User | None
) -> tuple[L, str]:
    """Store a new link beside the other links of its subject. The subject's row is locked. Return
    the link with its token. Raises BadOrder and WrongState.
    """
    if not 1 <= days <= MOST_DAYS:
        raise BadOrder({"days": f"Days are a whole number from 1 to {MOST_DAYS}."})
    token, now = secrets.token_urlsafe(32), timezone.now()
    others.filter(expires_at__lte=now).delete()
    if others.count() >= MOST_LINKS:
        raise WrongState(f"{subject} has {MOST_LINKS} share links; revoke one first.")
    link.digest, link.created_by = _token_digest(token), by
    link.expires_at = now + timedelta(days=days)
    link.save()
    record_action(
        by, subject, "created a share link", {"link": (None, link.pk), "days": (None, days)}
    )
    return link, token


@transaction.atomic
def revoke_share_link(link: ShareLink, *, by: User | None) -> None:
    record_action(by, link.crawl, "revoked a share link", {"link": (link.pk, None)})
    link.delete()


def share_links_of(crawl: CrawlJob) -> Sequence[ShareLink]:
    """The links that have not expired, the oldest first."""
    alive = ShareLink.objects.filter(crawl=crawl, expires_at__gt=timezone.now())
    return list(alive.select_related("created_by"))


def share_links_by(user: User) -> Sequence[ShareLink]:
    """The links that a user has created and that have not expired, with their crawls."""
    alive = ShareLink.objects.filter(created_by=user, expires_at__gt=timezone.now())
    return list(alive.filter(crawl__removal_asked_at=None).select_related("crawl"))


def hand_link_over(link: ShareLink, receiver: User, *, by: User | None) -> None:
    """Give a link to another user, so that it stays open. The caller is in a transaction."""
    record_action(
        by, link.crawl, "handed a share link over", {"owner": (link.created_by, receiver)}
    )
    ShareLink.objects.filter(pk=link.pk).update(created_by=receiver)


def shared_crawl(token: str) -> ShareLink | None:
    """The link of a token, with its crawl. None if the token is unknown, expired or revoked, if the
    crawl is deleted, or if the user may no longer share it.
    """
    links = ShareLink.objects.select_related("crawl", "created_by")
    link = link_of(links.filter(crawl__removal_asked_at=None), token)
    if link is None or not may_still_share(link.created_by, link.crawl):
        return None
    note_opening(link)
    return link


def link_of(links: QuerySet[L], token: str) -> L | None:
    """The link among `links` with this token. None if the token is unknown, expired or revoked."""
    return links.filter(digest=_token_digest(token), expires_at__gt=timezone.now()).first()


def note_opening(link: SecretLink) -> None:
    now = timezone.now()
    type(link)._default_manager.filter(
        Q(last_opened_at=None) | Q(last_opened_at__lt=now - OPENED_EVERY), pk=link.pk
    ).update(last_opened_at=now)


def _token_digest(token: str) -> str:
    return sha256(token.encode(errors="replace")).hexdigest()


@dataclass(frozen=True)
class SharedKind:
    """A kind of access without an account. A use of crawls offers further kinds as `SHARED` in its
    module `pages`.
    """

    name: str
    #: the address of a row's page
    page: Callable[[Any], str]
    #: the rows that a user has created, or that are sent to the user
    by: Callable[[User], Iterable[Any]]
    #: gives a row to another user (arguments: row, receiver, acting user); raises BadOrder
    hand_over: Callable[[Any, User, User], None]
    #: the thing that a row shows
    subject: Callable[[Any], Any] = attrgetter("crawl")
    #: whether a user may share such a subject
    may_act: Callable[[User, Any], bool] = may_act


@dataclass(frozen=True)
class SharedItem:
    """One row of a kind."""

    kind: SharedKind
    row: Any

    @property
    def subject(self) -> Any:
        """The crawl or other named object that the row shows; None for all crawls."""
        return self.kind.subject(self.row)

    @property
    def crawl(self) -> CrawlJob | None:
        return self.subject if isinstance(self.subject, CrawlJob) else None

    @property
    def page(self) -> str:
        return self.kind.page(self.row)


SHARE_LINK = SharedKind(
    "share link",
    lambda link: reverse("crawling:share", args=[link.crawl_id]),
    share_links_by,
    lambda link, receiver, by: hand_link_over(link, receiver, by=by),
)


def shared_items(user: User) -> list[SharedItem]:
    kinds = (SHARE_LINK, *offered_by_uses("pages", "SHARED"))
    return [SharedItem(kind, row) for kind in kinds for row in kind.by(user)]

"""The users who may act on a crawl: its owner, the members of its team, and administrators.

To act on a crawl is to change, run, clone, share or delete it, or to download its files: everything
that requires more than a viewer's permissions. Reading is for all users. On a crawl with neither
owner nor team all operators may act. An action that stops or changes all crawls, like an entry of
the blocklist, acts on the crawls of others, too, so it is for administrators. Administrators may
let all operators act on all crawls (`TeamRule`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, Q

from crawling.models import CrawlJob, Team, TeamRule

#: the permission of a role to change crawls
STEER = "crawling.change_crawljob"
#: the permission to act on every crawl
ADMINISTER = "allocation.change_pool"
#: the permissions of a role that count for crawls on which the user may act
ACTS = frozenset({"crawling.add_crawljob", "crawling.delete_crawljob", STEER})
#: the permissions of a role for all crawls together, since they change the fetches and messages of
#: others' crawls
OF_ALL = frozenset({"crawling.add_blocklistentry", "crawling.change_identity"})
OF_ADMINISTRATORS = (
    "This concerns the crawls of all teams: only administrators do it. Ask one of them; for crawls "
    "of your own, set their own rules (Settings)."
)


def acts_on_own_only() -> bool:
    """Whether operators may act only on their own crawls and on those of their teams. True without
    a row.
    """
    return not TeamRule.objects.filter(own_crawls_only=False).exists()


def withheld_permissions(granted: Collection[str], *, rule_is_lifted: bool) -> dict[str, str]:
    """The permissions among `granted` that do not count for a user, each with the words for those
    who have it.
    """
    if rule_is_lifted or ADMINISTER in granted:
        return {}
    return dict.fromkeys(OF_ALL.intersection(granted), OF_ADMINISTRATORS)


def is_restricted(user: User | None) -> bool:
    """Whether the user may act on some crawls only. None means the command line, which may act on
    all.
    """
    return not _acts_on_all(user) and acts_on_own_only()


def may_end(user: User | None, asker: User | None) -> bool:
    """Whether a user may cancel a job that `asker` (a user, or the command line) requested. Users
    may cancel their own jobs, and administrators all. Any operator may cancel jobs whose requester
    no longer exists, and all jobs if all operators may act on all crawls.
    """
    if user is None or asker == user or _acts_on_all(user):
        return True
    return bool(ACTS & user.get_all_permissions()) and (asker is None or not acts_on_own_only())


def require_own(user: User | None, asker: User | None, what: str) -> None:
    """Raise PermissionDenied, with a sentence that says who may cancel the job, if the user may
    not.
    """
    if not may_end(user, asker):
        raise PermissionDenied(
            f"{asker} asked for {what}: that user cancels it, or an administrator."
            if asker
            else f"No user asked for {what} who is there: an operator cancels it."
        )


def crawls_within_reach(user: User | None) -> Q:
    """The condition on crawls on which the user may act, as far as the role permits. It applies to
    all rows with the same fields `created_by` and `team`.
    """
    if _acts_on_all(user):
        return Q()
    rule_is_lifted = Exists(TeamRule.objects.filter(own_crawls_only=False))
    return crawls_of_user(user) | Q(created_by=None, team="") | Q(rule_is_lifted)


def crawls_of_user(user: User | None) -> Q:
    """The condition on crawls that the user, or a team of the user, owns."""
    return Q(created_by=user) | Q(team__in=Team.objects.filter(members=user).values("name"))


def crawls_acted_on(user: User | None, crawls: Collection[int]) -> set[int]:
    """The crawls with these ids on which the user may act. Takes at most one query."""
    if _acts_on_all(user):
        return set(crawls)
    found = CrawlJob.all_objects.filter(crawls_within_reach(user), pk__in=crawls)
    return set(found.values_list("pk", flat=True))


def may_act(user: User | None, crawl: CrawlJob) -> bool:
    """Whether a user whose role permits an action may apply it to this crawl."""
    return crawl.pk in crawls_acted_on(user, [crawl.pk])


def require_act(user: User | None, crawl: CrawlJob) -> None:
    """Raise PermissionDenied, with a sentence that says who may act, if the user may not."""
    if not may_act(user, crawl):
        raise PermissionDenied(refusal_in_words(crawl))


def refusal_in_words(crawl: CrawlJob) -> str:
    """The sentence for a user who may not act on a crawl. It names the users who may."""
    owner = [f"its owner {crawl.created_by}"] if crawl.created_by else []
    team = [f"the members of the team {crawl.team}"] if crawl.team else []
    who = ", ".join([*owner, *team])
    return (
        f"You may read {crawl.name}, and no more: only {who} and administrators act on it. Ask "
        "one of them to do it, or an administrator to hand the crawl over or to add you to its "
        "team."
    )


def may_still_share(maker: User | None, crawl: CrawlJob) -> bool:
    """Whether access to a crawl that a user has given stays open, which is so only while the user
    could still give it. maker: None if the command line gave it.
    """
    if maker is None:
        return True
    return maker.is_active and maker.has_perm(STEER) and may_act(maker, crawl)


class SharedRow(Protocol):
    """A row that gives people without an account access to something."""

    pk: int
    created_by: User | None


def still_shared(crawl: CrawlJob, rows: Iterable[SharedRow]) -> set[int]:
    """The ids of those links and watches of a crawl whose addresses still work."""
    kept = list(rows)
    able = {maker for maker in {row.created_by for row in kept} if may_still_share(maker, crawl)}
    return {row.pk for row in kept if row.created_by in able}


def crawl_out_of_reach(user: User, crawl_id: int) -> CrawlJob | None:
    """The crawl, deleted or not, if the role permits actions but the user may not act on this
    crawl. Takes at most one query.
    """
    if _acts_on_all(user) or not ACTS & user.get_all_permissions():
        return None
    crawls = CrawlJob.all_objects.filter(~crawls_within_reach(user), pk=crawl_id)
    few = crawls.select_related("created_by").only("name", "team", "created_by__username")
    return few.first()


def is_administrator(user: User | None) -> bool:
    """Whether the user may act on everything that belongs to all. None means the command line,
    which may.
    """
    return _acts_on_all(user)


def _acts_on_all(user: User | None) -> bool:
    return user is None or user.has_perm(ADMINISTER)

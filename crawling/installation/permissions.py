"""The users who may act on a crawl: its owner, the members of its team, and administrators.

Acting is all that takes more than a viewer's permissions: to change, run, clone, share or delete a
crawl, and to take its files. Reading is for all users. A crawl with neither owner nor team is for
all operators. An act that stops or changes the crawls of all, as the blocklist does, acts on the
crawls of others, too: administrators do it. Administrators may let all operators act on all crawls
(`TeamRule`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, Q

from crawling.models import CrawlJob, Team, TeamRule

#: may change crawls, by the role
STEER = "crawling.change_crawljob"
#: may act on every crawl
ADMINISTER = "allocation.change_pool"
#: the permissions of a role for crawls that the user may act on
ACTS = frozenset({"crawling.add_crawljob", "crawling.delete_crawljob", STEER})
#: the permissions of a role for all crawls together: they change the fetches and messages of
#: others' crawls
OF_ALL = frozenset({"crawling.add_blocklistentry", "crawling.change_identity"})
OF_ADMINISTRATORS = (
    "This concerns the crawls of all teams: only administrators do it. Ask one of them; for crawls "
    "of your own, set their own rules (Settings)."
)


def acts_on_own_only() -> bool:
    """Whether operators act on crawls of their own and of their teams only; so without a row."""
    return not TeamRule.objects.filter(own_crawls_only=False).exists()


def withheld_from(granted: Collection[str], *, rule_is_lifted: bool) -> dict[str, str]:
    """The permissions among these that do not count for a user, each with who has it."""
    if rule_is_lifted or ADMINISTER in granted:
        return {}
    return dict.fromkeys(OF_ALL.intersection(granted), OF_ADMINISTRATORS)


def is_restricted(user: User | None) -> bool:
    """Whether the user may act only on some crawls. None is the command line, which acts on all."""
    return not _acts_on_all(user) and acts_on_own_only()


def may_end(user: User | None, asker: User | None) -> bool:
    """Whether a user may cancel what a user, or the command line, asked a job for: one's own, an
    administrator all, and any operator what no user asked for who is there, and all where operators
    act on all crawls.
    """
    if user is None or asker == user or _acts_on_all(user):
        return True
    return bool(ACTS & user.get_all_permissions()) and (asker is None or not acts_on_own_only())


def require_own(user: User | None, asker: User | None, what: str) -> None:
    """Raise PermissionDenied, with a sentence that says who may cancel it."""
    if not may_end(user, asker):
        raise PermissionDenied(
            f"{asker} asked for {what}: that user cancels it, or an administrator."
            if asker
            else f"No user asked for {what} who is there: an operator cancels it."
        )


def within_reach(user: User | None) -> Q:
    """The condition on crawls that the user may act on, as far as the role permits; on all rows
    with such a `created_by` and `team`.
    """
    if _acts_on_all(user):
        return Q()
    rule_is_lifted = Exists(TeamRule.objects.filter(own_crawls_only=False))
    return of_user(user) | Q(created_by=None, team="") | Q(rule_is_lifted)


def of_user(user: User | None) -> Q:
    """The condition on crawls that the user owns, or that a team of the user has."""
    return Q(created_by=user) | Q(team__in=Team.objects.filter(members=user).values("name"))


def acted_on(user: User | None, crawls: Collection[int]) -> set[int]:
    """The crawls with these ids that the user may act on. At most one query."""
    if _acts_on_all(user):
        return set(crawls)
    found = CrawlJob.all_objects.filter(within_reach(user), pk__in=crawls)
    return set(found.values_list("pk", flat=True))


def may_act(user: User | None, crawl: CrawlJob) -> bool:
    """Whether a user whose role permits an action may do it to this crawl."""
    return crawl.pk in acted_on(user, [crawl.pk])


def require_act(user: User | None, crawl: CrawlJob) -> None:
    """Raise PermissionDenied, with a sentence that says who may, unless the user may."""
    if not may_act(user, crawl):
        raise PermissionDenied(refusal(crawl))


def refusal(crawl: CrawlJob) -> str:
    """The sentence that names the users who act on a crawl, for a user who may not."""
    owner = [f"its owner {crawl.created_by}"] if crawl.created_by else []
    team = [f"the members of the team {crawl.team}"] if crawl.team else []
    who = ", ".join([*owner, *team])
    return (
        f"You may read {crawl.name}, and no more: only {who} and administrators act on it. Ask "
        "one of them to do it, or an administrator to hand the crawl over or to add you to its "
        "team."
    )


def may_still_share(maker: User | None, crawl: CrawlJob) -> bool:
    """Whether what a user has published of a crawl stays open: only while the user could publish it
    again. None if the command line made it.
    """
    if maker is None:
        return True
    return maker.is_active and maker.has_perm(STEER) and may_act(maker, crawl)


class SharedRow(Protocol):
    """A row that opens something to people without an account."""

    pk: int
    created_by: User | None


def still_shared(crawl: CrawlJob, rows: Iterable[SharedRow]) -> set[int]:
    """The ids of those links and watches of a crawl whose addresses open something."""
    kept = list(rows)
    able = {maker for maker in {row.created_by for row in kept} if may_still_share(maker, crawl)}
    return {row.pk for row in kept if row.created_by in able}


def crawl_out_of_reach(user: User, crawl_id: int) -> CrawlJob | None:
    """The crawl, also a deleted one, if the role permits actions and the user may not act on it. At
    most one query.
    """
    if _acts_on_all(user) or not ACTS & user.get_all_permissions():
        return None
    crawls = CrawlJob.all_objects.filter(~within_reach(user), pk=crawl_id)
    few = crawls.select_related("created_by").only("name", "team", "created_by__username")
    return few.first()


def is_administrator(user: User | None) -> bool:
    """Whether the user acts on what belongs to all. None is the command line, which may."""
    return _acts_on_all(user)


def _acts_on_all(user: User | None) -> bool:
    return user is None or user.has_perm(ADMINISTER)

"""Teams, the crawls on which their members may act, and the owners of crawls. Only this module and
the admin site write these.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import IntegrityError, transaction

from allocation.models import ProcessState, Share
from allocation.rules.shares import NO_LIMIT
from allocation.wording import first_few_in_words
from crawling.base.audit import record_action
from crawling.base.errors import BadOrder, WrongState
from crawling.base.use import offered_by_uses
from crawling.installation.permissions import ADMINISTER, STEER, acts_on_own_only
from crawling.models import CrawlJob, Team, TeamRule
from crawling.runs.crawls.creation import team_errors
from crawling.runs.crawls.revisions import edit_crawl
from crawling.runs.grants import TEAM_REF

#: PostgreSQL refuses a query with this character, and no stored text contains it
NUL = "\0"


def create_team(name: str, members: Sequence[str] = (), *, by: User | None = None) -> Team:
    """Create a team. Raises BadOrder."""
    users = _users_named(members)
    with transaction.atomic():
        team = _save_name(Team(), name)
        team.members.set(users)
        record_action(by, team, "created", {"members": ("", ", ".join(sorted(members)))})
    return team


def rename_team(team: Team, name: str, *, by: User | None = None) -> None:
    """Give a team another name. Other rows refer to a team by its name, so a team in use keeps its
    name (`team_uses_in_words`). Raises BadOrder or WrongState.
    """
    if uses := team_uses_in_words(team):
        raise WrongState(
            f"{team.name} keeps its name while it is used: {'; '.join(uses)}. Make another team, "
            "and hand its crawls over."
        )
    before = team.name
    with transaction.atomic():
        _save_name(team, name)
        record_action(by, team, "renamed", {"name": (before, team.name)})


def set_members(team: Team, names: Sequence[str], *, by: User | None = None) -> None:
    """Replace the members. Raises BadOrder."""
    users = _users_named(names)
    before = ", ".join(member.get_username() for member in team.members.order_by("username"))
    with transaction.atomic():
        team.members.set(users)
        record_action(by, team, "members changed", {"members": (before, ", ".join(sorted(names)))})


def delete_team(team: Team, *, by: User | None = None) -> None:
    """Delete a team that nothing uses. Raises WrongState, which names the uses."""
    if uses := team_uses_in_words(team):
        raise WrongState(f"{team.name} cannot be deleted. It is used: {'; '.join(uses)}.")
    with transaction.atomic():
        record_action(by, team, "deleted")
        team.delete()


def set_team_rule(*, own_crawls_only: bool, by: User | None = None) -> None:
    """Set whether operators act only on their own crawls and on those of their teams. The setting
    takes effect with the next request.
    """
    with transaction.atomic():
        before = acts_on_own_only()
        row, _ = TeamRule.objects.update_or_create(
            pk=1, defaults={"own_crawls_only": own_crawls_only}
        )
        record_action(by, row, "changed", {"own_crawls_only": (before, own_crawls_only)})


def team_uses_in_words(team: Team) -> list[str]:
    """Phrases about everything that refers to a team by its name: crawls, shares of pools, and
    items of uses of crawls (`TEAM_USES` of their modules `pages`).
    """
    crawls = list(CrawlJob.all_objects.filter(team=team.name).values_list("name", flat=True))
    used = [f"crawls {first_few_in_words(crawls)}"] if crawls else []
    used += filter(None, (told(team) for told in offered_by_uses("pages", "TEAM_USES")))
    for share in shares_of(team):
        has_terms = any(share.reserved) or any(limit != NO_LIMIT for limit in share.limits)
        if has_terms or share.processes.filter(state=ProcessState.ACTIVE).exists():
            used.append(f"its share of the pool {share.pool.name}")
    return used


def shares_of(team: Team) -> list[Share]:
    """The team's shares of pools. A team gets a share of a pool when one of its crawls first runs
    there.
    """
    shares = Share.objects.filter(ref=f"{TEAM_REF}{team.name}")
    return list(shares.select_related("pool").order_by("pool"))


def hand_over(
    crawl: CrawlJob, owner: str, team: str | None = None, *, by: User | None = None
) -> CrawlJob:
    """Give a crawl to another owner, and to another team if one is named ("" for none).

    The crawl's owner, administrators and the command line (None) may do so. Any operator may take
    over a crawl without an owner. Raises PermissionDenied, and BadOrder with a sentence for each
    field; then nothing has changed.
    """
    is_administrator = by is None or by.has_perm(ADMINISTER)
    if not may_hand_over(crawl, by):
        raise PermissionDenied(
            f"{crawl.name} is {crawl.created_by}'s: its owner hands it over, or an administrator."
        )
    receiver = steering_user(owner)
    if receiver is None:
        raise BadOrder({"owner": f"no active user {owner!r} may steer crawls; name another"})
    wanted = crawl.team if team is None else team
    if errors := team_errors(wanted, None if is_administrator else receiver):
        said = f"{owner} is no member of {wanted}; name another team, or none"
        raise BadOrder({"team": said if "no member" in errors["team"] else errors["team"]})
    if wanted != crawl.team:
        edit_crawl(crawl, {"team": wanted}, by=by)
    with transaction.atomic():
        row = CrawlJob.objects.select_for_update(no_key=True).get(pk=crawl.pk)
        before, row.created_by = row.created_by, receiver
        row.save(update_fields=["created_by"])
        record_action(by, row, "handed over", {"owner": (str(before or "the command line"), owner)})
    return row


def steering_user(name: str) -> User | None:
    """The active user of that name, if the user may steer crawls; otherwise None."""
    user = None if NUL in name else User.objects.filter(username=name, is_active=True).first()
    return user if user and user.has_perm(STEER) else None


def may_hand_over(crawl: CrawlJob, by: User | None) -> bool:
    """Whether a user who may steer crawls, or the command line (None), may hand this crawl over."""
    return by is None or crawl.created_by in (None, by) or by.has_perm(ADMINISTER)


def _save_name(team: Team, name: str) -> Team:
    team.name = " ".join(name.split())
    try:
        team.full_clean(validate_unique=False)
        with transaction.atomic():
            team.save()
    except ValidationError as error:
        raise BadOrder({"name": " ".join(error.messages)}) from error
    except IntegrityError as error:
        raise BadOrder({"name": f"there is a team {team.name!r} already"}) from error
    return team


def _users_named(names: Sequence[str]) -> list[User]:
    possible = [name for name in names if NUL not in name]
    users = list(User.objects.filter(username__in=possible))
    if missing := sorted(set(names) - {user.get_username() for user in users}):
        raise BadOrder({"members": f"there is no user {', '.join(missing)}"})
    return users

"""Users and their roles. Only this module, the admin site and `set_up` write them.

Only a superuser may change a superuser. No user may remove the user's own role or account, so that
an installation always has a user who can give roles. Share links, feeds of watches and alerts to
the address of an account stop with the account, unless another user takes them over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import Group, Permission, User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.db.models import Prefetch, QuerySet

from allocation.wording import first_few_in_words
from crawling.base.audit import record_action
from crawling.base.errors import BadOrder
from crawling.base.use import Use, uses
from crawling.installation.events import account_deleted
from crawling.models import CrawlJob
from crawling.runs.crawls.share_links import SharedItem, shared_items
from crawling.runs.crawls.teams import steering_user
from crawlsite.administration.passwords import give_password
from crawlsite.models import ApiToken
from crawlsite.refusal_pages import ADMINISTRATOR

#: may see everything except secrets
VIEW = ("crawling.view_crawljob", "allocation.view_pool", "dnscache.view_dnsentry")
#: may create and steer crawls
OPERATE = (
    "crawling.add_crawljob",
    "crawling.change_crawljob",
    "crawling.delete_crawljob",
    "crawling.change_identity",
    "crawling.add_blocklistentry",
    "dnscache.change_dnsentry",
)
#: may set limits, networks and users in the admin site
ADMINISTER = (
    "allocation.change_pool",
    "crawling.add_allowednetwork",
    "crawling.change_allowednetwork",
    "crawling.delete_allowednetwork",
    *(
        f"crawling.{verb}_{what}"
        for what in ("alloweddirectory", "sharednetwork", "team", "trustedproxy")
        for verb in ("view", "add", "change", "delete")
    ),
    "crawling.delete_blocklistentry",
    "crawling.add_robotsexception",
    "dnscache.delete_dnsentry",
    "dnscache.change_dnsserver",
    "auth.add_user",
    "auth.change_user",
    "auth.view_group",
    "admin.view_logentry",
    *(one for use in uses() if isinstance(use, Use) for one in use.administrators_may),
)
ROLES = {"viewer": VIEW, "operator": VIEW + OPERATE, "administrator": VIEW + OPERATE + ADMINISTER}
#: the name of no role: the user can log in but see nothing
NO_ROLE = ""


def make_roles() -> None:
    """Create missing groups, and give each the permissions of its role. Other permissions of the
    groups stay.
    """
    known = {
        f"{app}.{codename}": pk
        for app, codename, pk in Permission.objects.values_list(
            "content_type__app_label", "codename", "pk"
        )
    }
    Group.objects.bulk_create([Group(name=name) for name in ROLES], ignore_conflicts=True)
    groups = dict(Group.objects.filter(name__in=ROLES).values_list("name", "pk"))
    given = Group.permissions.through
    given.objects.bulk_create(
        [
            given(group_id=groups[name], permission_id=known[permission])
            for name, permissions in ROLES.items()
            for permission in permissions
        ],
        ignore_conflicts=True,
    )


class BadAccount(Exception):
    """The account cannot be made or changed as asked; `errors` holds a sentence for each field."""

    def __init__(self, errors: dict[str, str]) -> None:
        self.errors = errors
        super().__init__(" ".join(errors.values()))


def accounts() -> QuerySet[User]:
    """The accounts that can have a password, with their groups; the accounts of programs are left
    out.
    """
    people = User.objects.exclude(password__startswith=UNUSABLE_PASSWORD_PREFIX)
    return people.prefetch_related(Prefetch("groups")).order_by("username")


def role_of(user: User) -> str:
    """The most powerful role of the product that the user has."""
    names = {group.name for group in user.groups.all()}
    return next((role for role in reversed(ROLES) if role in names), NO_ROLE)


def create_account(name: str, email: str, role: str, *, by: User) -> tuple[User, str]:
    """Create a user with a role. Return the user and a random password. The password is shown once,
    and must be changed at the first log-in.

    Raises BadAccount, and BadOrder for a wrong e-mail address.
    """
    name, email, errors = name.strip(), email.strip(), _email_errors(email.strip())
    try:
        UnicodeUsernameValidator()(name)
    except ValidationError:
        errors["name"] = "Use letters, digits and @ . + - _ only, 150 characters at most."
    if len(name) > 150:
        errors["name"] = "Use 150 characters at most."
    if role not in (*ROLES, NO_ROLE):
        errors["role"] = f"Choose one of: {', '.join(ROLES)}."
    if errors:
        raise BadAccount(errors)
    try:
        with transaction.atomic():
            user = User.objects.create_user(name, email)
            password = give_password(user)
            _give_role(user, role)
            record_action(by, user, "created", {"role": (None, role)})
    except IntegrityError as error:
        raise BadAccount({"name": f"There is a user named {name} already."}) from error
    return user, password


def _email_errors(email: str) -> dict[str, str]:
    try:
        if email:
            validate_email(email)
    except ValidationError:
        return {"email": "Write an address like ada@example.org, or leave it empty."}
    return {}


def set_email(user: User, email: str, *, by: User) -> None:
    """Give a user, or oneself, another e-mail address, or none.

    Raises BadAccount, and PermissionDenied for a superuser.
    """
    email = email.strip()
    if errors := _email_errors(email):
        raise BadAccount(errors)
    with transaction.atomic():
        row = User.objects.select_for_update().get(pk=user.pk)
        if row.is_superuser and not by.is_superuser:
            raise PermissionDenied
        record_action(by, row, "e-mail changed", {"email": (row.email, email)})
        User.objects.filter(pk=row.pk).update(email=email)


def set_role(user: User, role: str, *, by: User) -> None:
    """Give a user one role in place of another. Other groups of the user stay.

    Raises BadAccount for one's own role, and PermissionDenied for a superuser.
    """
    if role not in (*ROLES, NO_ROLE):
        raise BadAccount({"role": f"Choose one of: {', '.join(ROLES)}."})
    with transaction.atomic():
        row = _lock_changeable_user(user, by)
        before = role_of(row)
        _give_role(row, role)
        record_action(by, row, "role changed", {"role": (before, role)})


def set_active(user: User, *, is_active: bool, by: User) -> None:
    """Let a user log in, or log the user out everywhere. Tokens of an inactive user do not work.

    Raises BadAccount for one's own account, and PermissionDenied for a superuser.
    """
    with transaction.atomic():
        row = _lock_changeable_user(user, by)
        record_action(by, row, "activated" if is_active else "deactivated")
        User.objects.filter(pk=row.pk).update(is_active=is_active)


def reset_password(user: User, *, by: User) -> str:
    """Reset the password of a user and return it. Sessions with the old one end, and the user has
    to change the new one.

    Raises BadAccount for one's own account, and PermissionDenied for a superuser.
    """
    with transaction.atomic():
        row = _lock_changeable_user(user, by)
        password = give_password(row)
        record_action(by, row, "password reset")
    return password


def _lock_changeable_user(user: User, by: User) -> User:
    """The user's row, locked. Raises an error if `by` may not change it."""
    row = User.objects.select_for_update().get(pk=user.pk)
    if row.pk == by.pk:
        raise BadAccount(
            {"user": "You cannot change your own account here; ask another administrator."}
        )
    if row.is_superuser and not by.is_superuser:
        raise PermissionDenied
    return row


def _give_role(user: User, role: str) -> None:
    user.groups.remove(*Group.objects.filter(name__in=ROLES))
    if role:
        user.groups.add(Group.objects.get(name=role))
    is_staff = user.is_superuser or role == ADMINISTRATOR
    User.objects.filter(pk=user.pk).update(is_staff=is_staff)


class SharedByUser(NamedTuple):
    """Items and tokens that stop with an account, and the number of crawls that it leaves."""

    items: Sequence[SharedItem]
    tokens: int
    #: the number of its crawls; they stay, and administrators or their team can continue them
    crawls: int
    teams: Sequence[str]

    def __bool__(self) -> bool:
        return bool(self.items)


def items_shared_by(user: User) -> SharedByUser:
    return SharedByUser(
        shared_items(user),
        ApiToken.objects.filter(user=user).count(),
        CrawlJob.objects.filter(created_by=user).count(),
        list(user.teams.order_by("name").values_list("name", flat=True)),
    )


@transaction.atomic
def deactivate(user: User, *, hand_to: str = "", by: User) -> None:
    """Lock the account. hand_to: the name of the user who takes over the links, feeds and alerts,
    so that these keep working; "" for none. Raises BadAccount, and the errors of `set_active`; then
    nothing has changed.
    """
    shared = items_shared_by(user)
    if hand_to:
        receiver = _receiver_named(hand_to, shared)
        if receiver == user:
            raise BadAccount({"hand_to": "Name another user: this one's stop with the account."})
        try:
            for item in shared.items:
                item.kind.hand_over(item.row, receiver, by)
        except BadOrder as error:
            raise BadAccount(error.errors) from error
    set_active(user, is_active=False, by=by)


@transaction.atomic
def delete_account(user: User, *, hand_to: str = "", by: User) -> None:
    """Permanently delete the account with its log-in, e-mail address, tokens, role, teams, saved
    views, and the alerts to its address. Its name stays in the log and at its crawls, and no other
    account can get it.

    hand_to, and errors: as for `deactivate`.
    """
    deactivate(user, hand_to=hand_to, by=by)
    record_action(by, user, "deleted")
    account_deleted(user, by)
    user.groups.clear()
    user.user_permissions.clear()
    user.teams.clear()
    user.saved_views.all().delete()
    ApiToken.objects.filter(user=user).delete()
    user.set_unusable_password()
    User.objects.filter(pk=user.pk).update(
        password=user.password, email="", is_staff=False, is_superuser=False
    )


def _receiver_named(name: str, shared: SharedByUser) -> User:
    """The user with this name, who must be allowed to act on everything that the items show. Raises
    BadAccount.
    """
    receiver = steering_user(name)
    if receiver is None:
        sentence = (
            f"No active user {name!r} may steer crawls; name another, or leave the field empty."
        )
        raise BadAccount({"hand_to": sentence})
    subjects = {(item.kind.may_act, item.subject) for item in shared.items if item.subject}
    if closed := sorted(one.name for may_act, one in subjects if not may_act(receiver, one)):
        raise BadAccount(
            {
                "hand_to": f"{name} may not act on {first_few_in_words(closed)}; name the "
                "owner, a member of the team, or an administrator."
            }
        )
    return receiver

"""`/api/v1/access-rules`, `/api/v1/users` and `/api/v1/activity`: what pages of the administration
show and do.
"""

# No postponed annotations here, since django-ninja reads annotations.

from datetime import datetime
from typing import Annotated, Any, Literal, cast

from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from ninja import Body, Path, Query, Router, Status
from pydantic import ConfigDict, Field, WithJsonSchema

from crawling.base.errors import BadOrder
from crawling.dashboard.base.api_parameters import LARGEST, Text
from crawling.installation.identity import (
    ACCESS_RULES,
    AccessRule,
    add_access_rule,
    remove_access_rule,
)
from crawlsite.administration.accounts import (
    BadAccount,
    accounts,
    create_account,
    deactivate,
    delete_account,
    items_shared_by,
    reset_password,
    role_of,
    set_active,
    set_email,
    set_role,
)
from crawlsite.administration.activity import ACTIVITIES, activities
from crawlsite.tokens import refuse_ending_tokens
from serving.access import AuthenticatedRequest, needs, require
from serving.listing.endpoint import listed
from serving.schemas import Schema

access, users, activity = (Router() for _ in range(3))
may_see_access = needs("crawling.change_allowednetwork")
may_see_users = needs("auth.change_user")
may_see_activity = needs("admin.view_logentry")
Kind = Annotated[str, Path(description=f"one of: {', '.join(ACCESS_RULES)}")]
Id = Annotated[int, Path(ge=1, le=LARGEST)]
RULE = {
    "title": "AccessRule",
    "type": "object",
    "description": "networks: network, port_from, port_to; directories: path; proxies: host, port; "
    "shared: network. All: note.",
    "examples": [{"network": "10.1.0.0/16", "port_from": 80, "port_to": 443, "note": "intranet"}],
}


class AccessRuleOut(Schema):
    kind: str
    id: int
    rule: str = Field(description="as shown on the page")
    note: str


class AccessList(Schema):
    items: list[AccessRuleOut]


class UserOut(Schema):
    id: int
    name: str
    email: str
    role: str = Field(description="viewer, operator or administrator; empty: none")
    is_active: bool
    is_superuser: bool
    last_login: datetime | None


class UserList(Schema):
    items: list[UserOut]


class UserWithPassword(UserOut):
    password: str = Field(description="shown this once")


class NewUser(Schema):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "ada", "role": "operator"}]},
    )
    name: str
    email: str = ""
    role: str = ""


class UserChanges(Schema):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"role": "viewer"}, {"is_active": False}]}
    )
    email: str | None = Field(None, description="empty: none")
    role: str | None = None
    is_active: bool | None = None
    hand_to: str = Field(
        "",
        description="with is_active false: the user who gets the share links, feeds and alerts, "
        "which stop otherwise (`shared-items`)",
    )


class SharedOut(Schema):
    crawl: int | None = Field(description="null: a collection, or all crawls")
    subject: str = Field(description="name of the crawl or collection; empty: all crawls")
    kind: Literal["share link", "feed", "alert by mail"]
    id: int = Field(description="of the share link, of the watch, or of the alert")


class SharedList(Schema):
    items: list[SharedOut]


@access.get(
    "",
    response=AccessList,
    summary="List access rules: networks, directories and proxies that crawls may use",
)
@may_see_access
def list_access_rules(request: AuthenticatedRequest) -> dict[str, Any]:
    return {
        "items": [
            _rule_facts(kind, row)
            for kind, model in ACCESS_RULES.items()
            for row in model._default_manager.order_by("pk")
        ]
    }


@access.post(
    "/{kind}", response={201: AccessRuleOut}, summary="Allow a network, directory or proxy"
)
@may_see_access
def create_access_rule(
    request: AuthenticatedRequest,
    kind: Kind,
    fields: Annotated[Annotated[dict[str, Any], WithJsonSchema(RULE)], Body()],
) -> Status:
    model = _rule_model(kind)
    require(request.user, f"crawling.add_{model._meta.model_name}")
    names = {field.name for field in model._meta.get_fields()} - {"id"}
    if unknown := fields.keys() - names:
        sentence = f"is not a field here; these are: {', '.join(sorted(names))}"
        raise BadOrder(dict.fromkeys(sorted(unknown), sentence))
    row = model(**fields)
    try:
        add_access_rule(row, by=request.user)
    except ValidationError as error:
        raise BadOrder(
            {field: " ".join(said) for field, said in error.message_dict.items()}
        ) from error
    return Status(201, _rule_facts(kind, row))


@access.delete("/{kind}/{rule_id}", response={204: None}, summary="Delete an access rule")
@may_see_access
def delete_access_rule(request: AuthenticatedRequest, kind: Kind, rule_id: Id) -> Status:
    model = _rule_model(kind)
    require(request.user, f"crawling.delete_{model._meta.model_name}")
    remove_access_rule(cast("AccessRule", get_object_or_404(model, pk=rule_id)), by=request.user)
    return Status(204, None)


@users.get("", response=UserList, summary="List users with their roles")
@may_see_users
def list_users(request: AuthenticatedRequest) -> dict[str, Any]:
    return {"items": [_user_facts(user) for user in accounts()]}


@users.post("", response={201: UserWithPassword}, summary="Create a user with a random password")
@may_see_users
def create_user(request: AuthenticatedRequest, asked: Annotated[NewUser, Body()]) -> Status:
    refuse_ending_tokens(request)
    try:
        user, password = create_account(asked.name, asked.email, asked.role, by=request.user)
    except BadAccount as error:
        raise BadOrder(error.errors) from error
    return Status(201, {**_user_facts(accounts().get(pk=user.pk)), "password": password})


@users.patch(
    "/{user_id}",
    response=UserOut,
    summary="Change the e-mail or role of a user, or lock or unlock the user",
)
@may_see_users
def update_user(
    request: AuthenticatedRequest, user_id: Id, asked: Annotated[UserChanges, Body()]
) -> dict[str, Any]:
    if asked.role is not None or asked.is_active:  # either change would outlast the token
        refuse_ending_tokens(request)
    if asked.hand_to and asked.is_active is not False:
        raise BadOrder(
            {"hand_to": "Links, feeds and alerts are handed over with is_active false only."}
        )
    user = get_object_or_404(accounts(), pk=user_id)
    try:
        with transaction.atomic():
            if asked.email is not None:
                set_email(user, asked.email, by=request.user)
            if asked.role is not None:
                set_role(user, asked.role, by=request.user)
            if asked.is_active is False:
                deactivate(user, hand_to=asked.hand_to, by=request.user)
            elif asked.is_active:
                set_active(user, is_active=True, by=request.user)
    except BadAccount as error:
        raise BadOrder(error.errors) from error
    return _user_facts(accounts().get(pk=user.pk))


@users.delete("/{user_id}", response={204: None}, summary="Delete a user permanently")
@may_see_users
def delete_user(
    request: AuthenticatedRequest,
    user_id: Id,
    hand_to: Annotated[
        str,
        Query(
            description="the user who gets the share links, feeds and alerts, which stop otherwise"
        ),
    ] = "",
) -> Status:
    """The name stays at what the user did and owns, and is not given again."""
    try:
        delete_account(get_object_or_404(accounts(), pk=user_id), hand_to=hand_to, by=request.user)
    except BadAccount as error:
        raise BadOrder(error.errors) from error
    return Status(204, None)


@users.get(
    "/{user_id}/shared-items",
    response=SharedList,
    summary="List share links, feeds and alerts of a user, which stop when the user is locked",
)
@may_see_users
def list_shared(request: AuthenticatedRequest, user_id: Id) -> dict[str, Any]:
    shared = items_shared_by(get_object_or_404(accounts(), pk=user_id))
    return {
        "items": [
            {
                "crawl": item.crawl.pk if item.crawl else None,
                "subject": item.subject.name if item.subject else "",
                "kind": item.kind.name,
                "id": item.row.pk,
            }
            for item in shared.items
        ]
    }


@users.post(
    "/{user_id}/password", response=UserWithPassword, summary="Reset the password of a user"
)
@may_see_users
def reset_user_password(request: AuthenticatedRequest, user_id: Id) -> dict[str, Any]:
    refuse_ending_tokens(request)
    user = get_object_or_404(accounts(), pk=user_id)
    try:
        password = reset_password(user, by=request.user)
    except BadAccount as error:
        raise BadOrder(error.errors) from error
    return {**_user_facts(user), "password": password}


@listed(activity, "", ACTIVITIES, summary="List activities of users, latest first")
@may_see_activity
def list_activities(
    request: AuthenticatedRequest, q: Text = "", user: str = ""
) -> QuerySet[LogEntry]:
    return activities(q, user)


def _rule_model(kind: str) -> type[AccessRule]:
    if kind not in ACCESS_RULES:
        raise Http404(f"There are no rules named {kind}; these are: {', '.join(ACCESS_RULES)}.")
    return ACCESS_RULES[kind]


def _rule_facts(kind: str, row: Any) -> dict[str, Any]:
    return {"kind": kind, "id": row.pk, "rule": str(row), "note": row.note}


def _user_facts(user: User) -> dict[str, Any]:
    return {
        "id": user.pk,
        "name": user.get_username(),
        "email": user.email,
        "role": role_of(user),
        "is_active": user.is_active,
        "is_superuser": user.is_superuser,
        "last_login": user.last_login,
    }

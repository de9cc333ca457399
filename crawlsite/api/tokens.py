"""`/api/v1/tokens`: a user's own tokens, and for administrators those of all users."""

# No postponed annotations here, since django-ninja reads annotations.

from datetime import datetime
from typing import Annotated, Any

from django.shortcuts import get_object_or_404
from ninja import Body, Path, Query, Router, Status
from pydantic import ConfigDict, Field

from crawling.base.errors import BadOrder
from crawling.dashboard.base.api_parameters import LARGEST, may_view
from crawlsite.models import ApiToken
from crawlsite.tokens import (
    LONGEST_NAME,
    MOST_DAYS,
    BadToken,
    issue_token,
    refuse_tokens,
    revocable_tokens,
    revoke_token,
    sorted_by_last_use,
)
from serving.access import AuthenticatedRequest, require
from serving.schemas import Schema

tokens = Router()


class NewToken(Schema):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "nightly import", "days": 90}]}
    )
    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
    days: Annotated[int, Field(ge=1, le=MOST_DAYS, strict=True)] | None = Field(
        None, description="until it expires; without it: until it is revoked"
    )
    reads_only: bool = Field(False, description="it opens only what changes nothing (GET)")


class TokenOut(Schema):
    id: int
    user: str = Field(description="the owner's name")
    name: str
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None
    reads_only: bool = Field(description="whether it opens only what changes nothing (GET)")


class TokenList(Schema):
    items: list[TokenOut]


class TokenMade(TokenOut):
    token: str = Field(description="shown this once")


@tokens.get("", response=TokenList, summary="List your tokens, or those of all users")
@may_view
def list_tokens(
    request: AuthenticatedRequest,
    everyone: Annotated[
        bool, Query(description="tokens of all users; for administrators only")
    ] = False,
) -> dict[str, Any]:
    rows = sorted_by_last_use(ApiToken.objects.select_related("user"))
    if everyone:
        require(request.user, "auth.change_user")
    else:
        rows = rows.filter(user=request.user)
    return {"items": [_token_facts(row) for row in rows]}


@tokens.post("", response={201: TokenMade}, summary="Create a token with your permissions")
@may_view
def create_token(request: AuthenticatedRequest, asked: Annotated[NewToken, Body()]) -> Status:
    """For sessions: a token makes no tokens (403)."""
    refuse_tokens(request)
    try:
        made = issue_token(
            request.user, asked.name, str(asked.days or ""), reads_only=asked.reads_only
        )
    except BadToken as error:
        raise BadOrder(error.errors) from error
    row = ApiToken.objects.get(user=request.user, name=asked.name.strip())
    return Status(201, {**_token_facts(row), "token": made})


@tokens.delete("/{token_id}", response={204: None}, summary="Revoke a token")
@may_view
def delete_token(
    request: AuthenticatedRequest, token_id: Annotated[int, Path(ge=1, le=LARGEST)]
) -> Status:
    """Also the token of this request. Administrators may revoke tokens of other users."""
    revoke_token(get_object_or_404(revocable_tokens(request.user), pk=token_id), by=request.user)
    return Status(204, None)


def _token_facts(row: ApiToken) -> dict[str, Any]:
    return {
        "id": row.pk,
        "user": row.user.get_username(),
        "name": row.name,
        "created_at": row.created_at,
        "last_used_at": row.last_used_at,
        "expires_at": row.expires_at,
        "reads_only": row.reads_only,
    }

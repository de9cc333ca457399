"""`/api/v1/tokens`: one's own tokens."""

# No postponed annotations here: ninja reads them.

from datetime import datetime
from typing import Annotated, Any

from django.shortcuts import get_object_or_404
from ninja import Body, Path, Router, Schema, Status
from pydantic import ConfigDict, Field

from crawling.dashboard.base.api_parameters import LARGEST, may_view
from crawling.errors import BadOrder
from crawlsite.models import ApiToken
from crawlsite.tokens import LONGEST_NAME, MOST_DAYS, BadToken, issue_token, revoke_token
from serving.access import AuthenticatedRequest

tokens = Router()


class NewToken(Schema):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "nightly import", "days": 90}]}
    )
    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
    days: Annotated[int, Field(ge=1, le=MOST_DAYS, strict=True)] | None = Field(
        None, description="until it expires; without it: until it is revoked"
    )


class TokenOut(Schema):
    id: int
    name: str
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None


class TokenList(Schema):
    items: list[TokenOut]


class TokenMade(TokenOut):
    token: str = Field(description="shown this once")


@tokens.get("", response=TokenList, summary="Your tokens")
@may_view
def list_tokens(request: AuthenticatedRequest) -> dict[str, Any]:
    return {"items": list(ApiToken.objects.filter(user=request.user).order_by("name"))}


@tokens.post("", response={201: TokenMade}, summary="Make a token that may do what you may")
@may_view
def create_token(request: AuthenticatedRequest, asked: Annotated[NewToken, Body()]) -> Status:
    try:
        made = issue_token(request.user, asked.name, str(asked.days or ""))
    except BadToken as error:
        raise BadOrder(error.errors) from error
    row = ApiToken.objects.get(user=request.user, name=asked.name.strip())
    facts = {name: getattr(row, name) for name in TokenOut.model_fields if name != "id"}
    return Status(201, {"id": row.pk, **facts, "token": made})


@tokens.delete(
    "/{token_id}", response={204: None}, summary="Let one of your tokens open nothing any more"
)
@may_view
def delete_token(
    request: AuthenticatedRequest, token_id: Annotated[int, Path(ge=1, le=LARGEST)]
) -> Status:
    """It may be the one that asks."""
    revoke_token(get_object_or_404(ApiToken, pk=token_id, user=request.user), by=request.user)
    return Status(204, None)

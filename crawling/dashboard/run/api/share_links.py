"""`/api/v1/crawls/{id}/share-links`: links that show a crawl's report without a log-in."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from datetime import datetime
from typing import Annotated, Any

from django.shortcuts import get_object_or_404
from django.urls import reverse
from ninja import Body, Path, Router, Status
from pydantic import ConfigDict, Field

from crawling.dashboard.base.api_parameters import LARGEST, CrawlId, may_change
from crawling.dashboard.base.requests import get_crawl
from crawling.installation.permissions import still_shared
from crawling.models import SecretLink, ShareLink
from crawling.runs.crawls import share_links as links
from crawling.runs.crawls.share_links import (
    MOST_DAYS,
    USUAL_DAYS,
    revoke_share_link,
    share_links_of,
)
from serving.access import AuthenticatedRequest
from serving.schemas import Schema

share_links = Router()


class ShareLinkIn(Schema):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"days": 7}]})
    days: Annotated[int, Field(ge=1, le=MOST_DAYS, strict=True)] = Field(
        USUAL_DAYS, description="until it expires"
    )


class ShareLinkOut(Schema):
    id: int
    created_at: datetime
    created_by: str | None = Field(description="null: the command line, or a deleted user")
    last_opened_at: datetime | None
    expires_at: datetime
    is_open: bool = Field(
        description="false once the user who created it could not create it any more"
    )


class ShareLinkList(Schema):
    items: list[ShareLinkOut]


class ShareLinkMade(ShareLinkOut):
    url: str = Field(description="shown only once; anyone who has it can read what it shows")


def link_row(link: SecretLink, *, is_open: bool = True) -> dict[str, Any]:
    times = {name: getattr(link, name) for name in ("created_at", "last_opened_at", "expires_at")}
    by = link.created_by
    owner = by.get_username() if by else None
    return {"id": link.pk, "created_by": owner, "is_open": is_open, **times}


@share_links.get(
    "/{crawl_id}/share-links", response=ShareLinkList, summary="The crawl's share links"
)
@may_change
def list_share_links(request: AuthenticatedRequest, crawl_id: CrawlId) -> dict[str, Any]:
    """Expired links are not listed."""
    crawl = get_crawl(crawl_id)
    found = share_links_of(crawl)
    open_links = still_shared(crawl, found)
    return {"items": [link_row(link, is_open=link.pk in open_links) for link in found]}


@share_links.post(
    "/{crawl_id}/share-links",
    response={201: ShareLinkMade},
    summary="Create a link that shows the crawl's report without a log-in",
)
@may_change
def create_share_link(
    request: AuthenticatedRequest, crawl_id: CrawlId, asked: Annotated[ShareLinkIn, Body()]
) -> Status:
    link, token = links.create_share_link(get_crawl(crawl_id), days=asked.days, by=request.user)
    url = request.build_absolute_uri(reverse("shared-report", args=[token]))
    return Status(201, {**link_row(link), "url": url})


@share_links.delete(
    "/{crawl_id}/share-links/{link_id}", response={204: None}, summary="Revoke a share link"
)
@may_change
def delete_share_link(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    link_id: Annotated[int, Path(ge=1, le=LARGEST)],
) -> Status:
    link = get_object_or_404(ShareLink, pk=link_id, crawl=get_crawl(crawl_id))
    revoke_share_link(link, by=request.user)
    return Status(204, None)

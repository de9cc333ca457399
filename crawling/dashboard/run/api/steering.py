"""`/api/v1/crawls/{id}/VERB`: the actions of an operator on a crawl."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from typing import Annotated, Any

from ninja import Body, Router, Status
from pydantic import ConfigDict, Field

from crawling.dashboard.base.api_parameters import (
    LARGEST,
    TEXT,
    CrawlId,
    KeepSeconds,
    may_add,
    may_change,
)
from crawling.dashboard.base.api_schemas import CrawlDetail, CrawlOut, RetriedOut
from crawling.dashboard.base.crawl_views import crawl_view
from crawling.dashboard.base.requests import get_crawl
from crawling.dashboard.run.api.detail import detail
from crawling.models import CrawlJob
from crawling.orders.seeds import LONGEST_TAG, MOST_TAGS
from crawling.runs.crawls import creation
from crawling.runs.crawls.tags import set_tags
from crawling.runs.crawls.teams import hand_over
from crawling.runs.verbs import VERBS, Verb
from crawling.runs.waiting_urls import retry_failed
from serving.access import AuthenticatedRequest
from serving.schemas import Schema

steering = Router()


class CloneIn(Schema):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "Manuals again"}]}
    )
    name: str | None = Field(None, description="name; default: the name followed by `copy`")


class CloneOut(CrawlDetail):
    without_secrets: list[str] = Field(
        description="fields whose secrets are not copied, since the crawl has another owner"
    )


class CrawlOwner(Schema):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"owner": "ada"}]})
    owner: str = Field(description="the name of an active user who may steer crawls")
    team: str | None = Field(None, description="empty: none; null: as before")


class RetryIn(Schema):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"status": 503}]})
    status: Annotated[int, Field(ge=-99, le=599, strict=True)] | None = Field(
        None, description="only URLs that failed with this status"
    )
    url_id: Annotated[int, Field(ge=1, le=LARGEST, strict=True)] | None = Field(
        None, description="only this URL, by its id"
    )


class TagsIn(Schema):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"tags": ["manuals", "weekly"]}]}
    )
    tags: Annotated[
        list[Annotated[str, Field(max_length=LONGEST_TAG, pattern=TEXT)]],
        Field(max_length=MOST_TAGS),
    ]


def crawl_json(crawl: CrawlJob) -> dict[str, Any]:
    return crawl_view(crawl).as_dict()


def _add_endpoint(word: str, verb: Verb) -> None:
    """Add an endpoint at the verb's word, with the operation id of the verb."""

    def steer_crawl(request: AuthenticatedRequest, crawl_id: CrawlId) -> dict[str, Any]:
        return _apply_verb(request, crawl_id, verb)

    def steer_keeping(
        request: AuthenticatedRequest, crawl_id: CrawlId, keep_seconds: KeepSeconds = None
    ) -> dict[str, Any]:
        return _apply_verb(request, crawl_id, verb, keep_seconds=keep_seconds)

    endpoint = may_change(steer_keeping if verb.may_keep else steer_crawl)
    endpoint.__name__ = f"{word}_crawl"
    steering.post(
        f"/{{crawl_id}}/{word}",
        response=CrawlOut,
        summary=verb.summary,
        description=verb.description,
    )(endpoint)


def _apply_verb(
    request: AuthenticatedRequest, crawl_id: int, verb: Verb, **options: float | None
) -> dict[str, Any]:
    crawl = get_crawl(crawl_id)
    verb.do(crawl, by=request.user, **options)
    return crawl_json(crawl)


for _word, _verb in VERBS.items():
    _add_endpoint(_word, _verb)


@steering.put(
    "/{crawl_id}/owner", response=CrawlOut, summary="Hand the crawl over to another user or team"
)
@may_change
def set_crawl_owner(
    request: AuthenticatedRequest, crawl_id: CrawlId, asked: Annotated[CrawlOwner, Body()]
) -> dict[str, Any]:
    """The owner may, and an administrator; 403 for others, unless the crawl has no owner."""
    return crawl_json(hand_over(get_crawl(crawl_id), asked.owner, asked.team, by=request.user))


@steering.post(
    "/{crawl_id}/clone", response={201: CloneOut}, summary="Create a draft with the same order"
)
@may_add
def clone_crawl(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    options: Annotated[CloneIn | None, Body()] = None,
) -> Status:
    crawl = get_crawl(crawl_id)
    copy = creation.clone_crawl(crawl, name=options.name if options else None, by=request.user)
    left_out = creation.withheld_fields(request.user, crawl)
    return Status(201, {**detail(copy), "without_secrets": left_out})


@steering.put("/{crawl_id}/tags", response=CrawlOut, summary="Replace the tags of a crawl")
@may_change
def set_crawl_tags(
    request: AuthenticatedRequest, crawl_id: CrawlId, wanted: Annotated[TagsIn, Body()]
) -> dict[str, Any]:
    return crawl_json(set_tags(get_crawl(crawl_id), wanted.tags, by=request.user))


@steering.post(
    "/{crawl_id}/retry-failed",
    response=RetriedOut,
    summary="Put failed URLs of the latest run back into its queue",
)
@may_change
def retry_failed_urls(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    options: Annotated[RetryIn | None, Body()] = None,
) -> dict[str, Any]:
    """A run that has ended continues as the same run."""
    crawl = get_crawl(crawl_id)
    chosen = options.dict() if options else {}
    retried = retry_failed(crawl, **chosen, by=request.user)
    return {"retried": retried, "crawl": crawl_json(crawl)}

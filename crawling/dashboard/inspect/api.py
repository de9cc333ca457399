"""`/api/v1/url-history`: the outcome of a URL."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from datetime import datetime
from typing import Annotated, Any

from ninja import Query, Router
from pydantic import Field

from crawling.dashboard.base.api_parameters import TEXT, Cursor, Limit, may_view
from crawling.dashboard.inspect.url_decision import UrlDecision, decisions_about
from crawling.dashboard.inspect.url_inspection import history_of, referrers_of
from crawling.models import Url, UrlState
from serving.access import AuthenticatedRequest
from serving.schemas import Schema

history = Router()
Address = Annotated[
    str,
    Query(min_length=1, max_length=4096, pattern=TEXT, description="a full URL, in any spelling"),
]


class UrlFetchOut(Schema):
    """The result of a URL in one run."""

    crawl: int
    name: str
    run: int
    state: str
    status: int | None
    error: str
    depth: int
    attempts: int
    found_on: str | None = Field(
        description="page or redirect on which it was found; null for a start URL"
    )
    final_url: str | None
    title: str | None
    fetched_at: datetime | None


class FactOut(Schema):
    about: str = Field(
        description="rule, verdict, frontier, robots, duplicate, redirect, quarantine or budget"
    )
    sentence: str
    url: str | None = Field(description="URL at the end of the sentence")
    at: datetime | None = Field(description="time at the end of the sentence, if any")


class WhyOut(Schema):
    """The decision of a crawl's current rules on a URL."""

    crawl: int
    name: str
    run: int | None = Field(description="number of the latest run; null for a draft")
    met: str = Field(
        description="its state in that run; excluded by a rule, never found, or not started"
    )
    rule: str = Field(description="the rule that decides")
    number: int = Field(description="number of the rule; rules apply in this order")
    admits: bool
    revision: int = Field(description="of the order")
    facts: list[FactOut]


class UrlHistory(Schema):
    url: str = Field(description="in canonical form")
    items: list[UrlFetchOut]
    crawls: list[WhyOut] = Field(
        description="decision by crawl, newest first; on the first page only"
    )
    pending: bool = Field(
        description="a background job reads robots.txt: repeat the request shortly"
    )
    next: int | None


@history.get(
    "",
    response=UrlHistory,
    summary="Get the result of a URL in every run, and the decision of each crawl's rules",
)
@may_view
def get_url_history(
    request: AuthenticatedRequest, url: Address, cursor: Cursor = None, limit: Limit = 50
) -> dict[str, Any]:
    """Only the first page has `crawls`: the newest 50 crawls, with or without the URL."""
    canonical, rows, following = history_of(url, before=cursor, limit=limit)
    answers = decisions_about(url)[1] if cursor is None else []
    referrers = referrers_of(rows)
    return {
        "url": canonical,
        "items": [_fetch_of(row, referrers.get(row.pk)) for row in rows],
        "crawls": [_decision_out(answer) for answer in answers],
        "pending": any(answer.is_pending for answer in answers),
        "next": following,
    }


def _decision_out(answer: UrlDecision) -> WhyOut:
    return WhyOut(
        crawl=answer.crawl.pk,
        name=answer.crawl.name,
        run=answer.run.number if answer.run else None,
        met=answer.met,
        rule=answer.rule,
        number=answer.number,
        admits=answer.admits,
        revision=answer.crawl.revision,
        facts=[
            FactOut(about=fact.about, sentence=fact.sentence, url=fact.url or None, at=fact.at)
            for fact in answer.facts
        ],
    )


def _fetch_of(row: Url, referrer: str | None) -> UrlFetchOut:
    page = getattr(row, "page", None)  # missing if the URL has no answer
    return UrlFetchOut(
        crawl=row.run.crawl_id,
        name=row.run.crawl.name,
        run=row.run.number,
        state=UrlState(row.state).label,
        status=row.status,
        error=row.error,
        depth=row.depth,
        attempts=row.attempts,
        found_on=referrer,
        final_url=page.final_url if page else None,
        title=page.title if page else None,
        fetched_at=page.fetched_at if page else None,
    )

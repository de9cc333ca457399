"""`/api/v1/bulk-actions`, `/api/v1/views`, `/api/v1/drafts/…`: many crawls at once, saved views of
the list, and orders before they are crawls.
"""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from dataclasses import asdict
from typing import Annotated, Any, Literal

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from ninja import Body, Path, Router, Status
from pydantic import ConfigDict, Field

from crawling.base.errors import BadOrder, NotFound
from crawling.dashboard.base.api_parameters import (
    LARGEST,
    TEXT,
    Order,
    may_add,
    may_change,
    may_view,
)
from crawling.dashboard.base.job_answers import InquiryOut, open_inquiry
from crawling.dashboard.crawls.api_overview import ZIP
from crawling.dashboard.crawls.bulk import (
    ACTIONS,
    MOST,
    BulkAction,
    bulk_action,
    chosen_crawls,
    needed_permission,
)
from crawling.dashboard.crawls.export import export_answer
from crawling.dashboard.crawls.filter import STATES, CrawlFilter
from crawling.dashboard.orders.api_rule_schemas import RuleCheckOut
from crawling.dashboard.orders.api_schedules import Wish
from crawling.models import CrawlJob, Inquiry, InquiryKind, SavedView
from crawling.orders.estimates import estimate_sentences, order_figures
from crawling.orders.rendering_needs import rendering_figures, rendering_sentences
from crawling.orders.seeds import BadTags, read_tags
from crawling.previews.seed_fetches import request_test_fetch
from crawling.previews.seed_names import request_name_lookups
from crawling.runs.crawls import saved_views
from crawling.runs.crawls.creation import check_order
from crawling.runs.crawls.earlier_renderings import needs_of_rendering
from crawling.runs.crawls.schedules import LONGEST_SPREAD
from crawling.runs.crawls.scope_tests import MOST_TESTED, try_order
from crawling.runs.seed_checks import closed_addresses
from serving.access import AuthenticatedRequest, require
from serving.schemas import Schema

bulk, views, drafts = Router(), Router(), Router()
Word = Annotated[str, Field(max_length=200, pattern=TEXT)]
Ids = Annotated[list[Annotated[int, Field(ge=1, le=LARGEST, strict=True)]], Field(max_length=MOST)]


class CrawlSearchIn(Schema):
    model_config = ConfigDict(extra="forbid")
    state: Literal["", *STATES] = ""  # type: ignore[valid-type]
    q: Word = ""
    tag: Word = ""
    owner: Word = ""
    team: Word = ""


class BulkIn(Schema):
    """An action, and its crawls: by ids, or all that match a filter."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"action": "pause", "filter": {"state": "running"}}]},
    )
    action: Literal[*ACTIONS]  # type: ignore[valid-type]
    crawls: Ids | None = None
    filter: CrawlSearchIn | None = Field(None, description="used if no ids are given")
    tags: list[Word] = Field([], max_length=20, description="for tag and untag")
    schedule: Wish | None = Field(None, description="for schedule")
    over_minutes: Annotated[int, Field(ge=0, le=LONGEST_SPREAD, strict=True)] = Field(
        0, description="for schedule: minutes over which the starts are spread"
    )


class CrawlsIn(Schema):
    """Crawls by ids, or all that match a filter."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"filter": {"tag": "weekly"}}]}
    )
    crawls: Ids | None = None
    filter: CrawlSearchIn | None = Field(None, description="used if no ids are given")


class BulkActionOut(Schema):
    """The body of a request that undoes an action."""

    action: str
    crawls: list[int]
    tags: list[str]
    schedule: dict[str, Any] | None
    over_minutes: int


class BulkDoneOut(Schema):
    chosen: int
    changed: int
    refused: list[str] = Field(description="a sentence for each crawl that was not changed")
    undo: list[BulkActionOut] = Field(description="requests to this endpoint that take it back")


@bulk.post(
    "",
    response=BulkDoneOut,
    summary=f"Start, steer, schedule, tag, delete or restore at most {MOST} crawls",
)
@may_change
def apply_bulk_action(
    request: AuthenticatedRequest, asked: Annotated[BulkIn, Body()]
) -> dict[str, Any]:
    """A filter selects only crawls that you may act on, in a state that allows the action; crawls
    that have ended are resumed only if the filter names their state. Deleted crawls are restored by
    ids.
    """
    require(request.user, needed_permission(asked.action))
    crawls = _chosen_crawls(asked.action, asked, request.user)
    try:
        act = BulkAction(
            asked.action,
            tags=read_tags(",".join(asked.tags)),
            schedule=asked.schedule or {},
            over_minutes=asked.over_minutes,
        )
        done = bulk_action(act, crawls, by=request.user)
    except BadTags as error:
        raise BadOrder({"tags": str(error)}) from error
    return {
        "chosen": len(crawls),
        "changed": done.changed,
        "refused": [*done.refused.values()],
        "undo": [{**one.as_dict(), "schedule": one.schedule or None} for one in done.undo],
    }


@bulk.post(
    "/export", openapi_extra=ZIP, summary=f"Export at most {MOST} crawls with their orders as a ZIP"
)
@may_change
def export_crawls(
    request: AuthenticatedRequest, asked: Annotated[CrawlsIn, Body()]
) -> HttpResponseBase:
    """The list as CSV and JSON Lines, and the order of each crawl as a JSON file; secrets are
    masked.
    """
    return export_answer(_chosen_crawls("export", asked, request.user))


def _chosen_crawls(action: str, asked: BulkIn | CrawlsIn, by: User) -> list[CrawlJob]:
    wanted = (
        None
        if asked.crawls is not None or asked.filter is None
        else CrawlFilter(
            asked.filter.state,
            asked.filter.q,
            asked.filter.tag,
            owner=asked.filter.owner,
            team=asked.filter.team,
        )
    )
    if action == "delete" and wanted == CrawlFilter():
        raise BadOrder({"filter": "says which crawls are deleted: it must not be empty"})
    return chosen_crawls(action, ids=asked.crawls or (), wanted=wanted, by=by)


class ViewOut(Schema):
    id: int
    name: str
    query: str = Field(description="query string of the list")
    is_shared: bool = Field(description="whether all users see it")
    owner: str

    @staticmethod
    def resolve_owner(view: SavedView) -> str:
        return view.user.get_username()


class ViewList(Schema):
    items: list[ViewOut]


class NewView(Schema):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "Failed", "query": "state=failed&sort=-started"}]},
    )
    name: Annotated[str, Field(max_length=200)]
    query: Annotated[str, Field(max_length=1000)]
    is_shared: bool = Field(False, description="share it with all users")


@views.get(
    "",
    response=ViewList,
    summary="List your saved views of the list of crawls, and shared ones",
)
@may_view
def list_views(request: AuthenticatedRequest) -> dict[str, Any]:
    return {"items": list(saved_views.visible_views(request.user))}


@views.post("", response=ViewOut, summary="Save a view; your view of the same name is replaced")
@may_view
def save_view(request: AuthenticatedRequest, asked: Annotated[NewView, Body()]) -> SavedView:
    return saved_views.save_view(request.user, asked.name, asked.query, is_shared=asked.is_shared)


@views.delete("/{view_id}", response={204: None}, summary="Delete one of your views")
@may_view
def delete_view(
    request: AuthenticatedRequest, view_id: Annotated[int, Path(ge=1, le=LARGEST)]
) -> Status:
    if not SavedView.objects.filter(user=request.user, pk=view_id).exists():
        raise NotFound(f"You have no view {view_id}.")
    saved_views.forget_view(request.user, view_id)
    return Status(204, None)


class ScopeTest(Schema):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "order": {"name": "Manuals", "seeds": ["https://example.org/"]},
                    "urls": ["https://example.org/manual/"],
                }
            ]
        },
    )
    order: Order
    urls: Annotated[
        list[Annotated[str, Field(max_length=4096)]], Field(min_length=1, max_length=MOST_TESTED)
    ]


class DraftRuleChecks(Schema):
    items: list[RuleCheckOut]


class SeedTestLinkOut(Schema):
    url: str
    why_not: str = Field(description="why the crawl does not follow it; empty: it does")


class SeedTestFetchOut(Schema):
    """The answer of a seed. `note` is set if it was not fetched."""

    url: str
    note: str
    address: str
    address_class: str
    robots: str
    delay: float
    status: int | None
    sentence: str
    content_type: str
    charset: str
    bytes: int
    seconds: float
    final_url: str
    title: str
    links: int
    needs_browser: bool = Field(
        description="scripts make its content; an order with `render` has a browser run them"
    )
    verdicts: list[SeedTestLinkOut]


class SeedTestFetchList(Schema):
    """`items` is empty until the job is done. `trouble`: why it failed."""

    state: str = Field(description="waiting, working, answered or failed")
    trouble: str
    items: list[SeedTestFetchOut]


@drafts.post(
    "/test-scope",
    response=DraftRuleChecks,
    summary="Test the rules of an order on URLs; nothing is fetched or saved",
)
@may_add
def test_draft_scope(
    request: AuthenticatedRequest, asked: Annotated[ScopeTest, Body()]
) -> dict[str, Any]:
    tested, mistakes = try_order(asked.order, asked.urls)
    if mistakes:
        raise BadOrder({f"order.{field}": sentence for field, sentence in mistakes.items()})
    return {"items": [asdict(one) for one in tested]}


class ClosedAddressOut(Schema):
    address: str
    port: int
    sentence: str = Field(description="why crawls may not use it")
    name: str = Field(description="which resolves to it; empty: a start URL has the address itself")


class FigureOut(Schema):
    label: str
    value: str
    note: str


class SeedChecksOut(Schema):
    errors: dict[str, str] = Field(
        description="a sentence for each wrong field; empty: the order is valid"
    )
    estimate: list[str] = Field(
        description="expected requests per host and time, and the needs of rendered pages; empty "
        "while a field is wrong"
    )
    figures: list[FigureOut] = Field(description="the same as label, value and note")
    closed: list[ClosedAddressOut] = Field(
        description="addresses of start URLs that need an administrator's permission"
    )
    is_resolving: bool = Field(
        description="names of start URLs are being looked up: ask again for their addresses"
    )


@drafts.post(
    "/check",
    response=SeedChecksOut,
    summary="Check an order, and estimate its requests per host; nothing is saved",
)
@may_add
def check_draft(request: AuthenticatedRequest, order: Annotated[Order, Body()]) -> dict[str, Any]:
    try:
        checked, claim = check_order(order, by=request.user)
    except BadOrder as error:
        nothing = {"estimate": [], "figures": [], "closed": [], "is_resolving": False}
        return {"errors": error.errors, **nothing}
    asked = request_name_lookups(checked.seeds, by=request.user)
    needs = needs_of_rendering(checked, claim)
    shown = (*order_figures(checked), *rendering_figures(needs))
    return {
        "errors": {},
        "estimate": [*estimate_sentences(checked), *rendering_sentences(needs)],
        "figures": [asdict(one) for one in shown],
        "closed": [asdict(one) for one in closed_addresses(checked.seeds)],
        "is_resolving": bool(asked and asked.is_open),
    }


@drafts.post(
    "/test-fetches",
    response={202: InquiryOut},
    summary="Test-fetch the first ten start URLs of an order in the background",
)
@may_add
def create_test_fetch(
    request: AuthenticatedRequest, response: HttpResponse, order: Annotated[Order, Body()]
) -> Status:
    """Answers at once; `result` (also in `Location`) has the answers, usually within half a
    minute. robots.txt, the delays of hosts and the limits of the pool apply as for any crawl. The
    answers are kept for an hour, for the same user.
    """
    inquiry, mistakes = request_test_fetch(order, by=request.user)
    if inquiry is None:
        raise BadOrder(mistakes)
    here = f"/api/v1/drafts/test-fetches/{inquiry.pk}"
    response["Location"] = here
    return open_inquiry(response, inquiry, here)


@drafts.get(
    "/test-fetches/{test_fetch_id}",
    response=SeedTestFetchList,
    summary="Get the result of your test fetch",
)
@may_add
def get_test_fetch(
    request: AuthenticatedRequest, test_fetch_id: Annotated[int, Path(ge=1, le=LARGEST)]
) -> dict[str, Any]:
    asked = Inquiry.objects.filter(kind=InquiryKind.TEST_FETCH, by=request.user)
    inquiry = asked.filter(pk=test_fetch_id).first()
    if inquiry is None:
        raise NotFound(f"You have no test fetch {test_fetch_id}; each is kept for an hour.")
    items = (inquiry.answer or {}).get("items", [])
    return {"state": inquiry.state, "trouble": inquiry.why_failed, "items": items}

"""`/api/v1/alerts`: listeners by webhook or e-mail, and every delivery; `/api/v1/weekly-summary`: a
user's own summary.
"""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from datetime import datetime
from typing import Annotated, Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Body, Path, Router, Status
from pydantic import ConfigDict, Field, WithJsonSchema

from crawling.base.alert_events import AlertEvent
from crawling.dashboard.base.api_parameters import LARGEST
from crawling.dashboard.base.api_parameters import may_view as may_see_crawls
from crawling.runs.week import WEEK
from crawling.uses.alerts.listeners import (
    choose_summary,
    drop_summary,
    remove_listener,
    restore_listener,
    save_listener,
    send_again,
    send_test,
    summary_obstacle,
)
from crawling.uses.alerts.models import Delivery, Listener
from crawling.uses.alerts.weekly import week_end, zone_of_listener
from crawling.uses.alerts.wording import MessageFormat
from serving.access import AuthenticatedRequest, needs
from serving.listing.endpoint import listed
from serving.listing.sources import QueryList
from serving.schemas import Schema

alerts, summaries = Router(), Router()
may_view, may_change, may_delete = (
    needs(f"alerts.{verb}_listener") for verb in ("view", "change", "delete")
)
AlertId = Annotated[int, Path(ge=1, le=LARGEST)]
TEXT = {"type": "string"}
ORDER = {
    "title": "ListenerOrder",
    "type": "object",
    "properties": {
        "name": {**TEXT, "maxLength": 100},
        "url": {
            **TEXT,
            "maxLength": 2000,
            "description": "http:// or https:// for a webhook, mailto: for e-mail",
        },
        "events": {
            "type": "array",
            "items": {**TEXT, "enum": [str(event) for event in AlertEvent]},
            "minItems": 1,
        },
        "message_format": {
            **TEXT,
            "enum": [str(one) for one in MessageFormat],
            "default": "json",
            "description": "format of a webhook's body: facts as JSON, or a chat message",
        },
        "crawl": {
            "anyOf": [{"type": "integer"}, {"type": "null"}],
            "default": None,
            "description": "id of the only crawl that it is about; null: of all, and of pools",
        },
        "is_on": {"type": "boolean", "default": True},
    },
    "required": ["name", "url", "events"],
    "additionalProperties": False,
    "examples": [
        {
            "name": "Chat",
            "url": "https://chat.example.org/hooks/crawls",
            "message_format": "slack",
            "events": ["finished", "failed"],
        },
        {
            "name": "On call",
            "url": "mailto:oncall@example.org",
            "events": ["trouble", "waiting", "unsafe"],
        },
    ],
}
#: read by `crawling.uses.alerts.wording`, as on pages and on the command line
Wish = Annotated[dict[str, Any], WithJsonSchema(ORDER)]


class ListenerOut(Schema):
    id: int
    name: str
    url: str = Field(alias="address")
    user: str | None = Field(
        description="whose weekly summary of the own crawls it is: that user chooses it; null: none"
    )
    events: list[str]
    crawl: int | None = Field(
        alias="crawl_id", description="the only crawl that it is about; null: of all"
    )
    message_format: str
    is_on: bool

    @staticmethod
    def resolve_name(row: Listener) -> str:
        return str(row)

    @staticmethod
    def resolve_user(row: Listener) -> str | None:
        return row.user.get_username() if row.user else None


class ListenerMade(ListenerOut):
    secret: str = Field(
        description="signs what a webhook is sent: HMAC-SHA256 over `TIMESTAMP.BODY`"
    )


class ListenerList(Schema):
    items: list[ListenerOut]


class DeliveryOut(Schema):
    id: int
    event: str
    body: str = Field(description="the facts as JSON; chats get a message made of them")
    created_at: datetime
    attempts: int
    next_try_at: datetime | None
    delivered_at: datetime | None
    outcome: str = Field(description="of the last attempt")


@alerts.get("", response=ListenerList, summary="List alerts")
@may_view
def list_alerts(request: AuthenticatedRequest) -> dict[str, Any]:
    return {"items": list(Listener.objects.select_related("user"))}


@alerts.post(
    "", response={201: ListenerMade}, summary="Create an alert: a webhook, a chat message or e-mail"
)
@may_change
def create_alert(request: AuthenticatedRequest, wish: Annotated[Wish, Body()]) -> Status:
    return Status(201, save_listener(wish, by=request.user))


@alerts.get("/{alert_id}", response=ListenerOut, summary="A listener")
@may_view
def get_alert(request: AuthenticatedRequest, alert_id: AlertId) -> Listener:
    return get_object_or_404(Listener, pk=alert_id)


@alerts.put("/{alert_id}", response=ListenerOut, summary="Replace an alert; its secret stays")
@may_change
def replace_alert(
    request: AuthenticatedRequest, alert_id: AlertId, wish: Annotated[Wish, Body()]
) -> Listener:
    return save_listener(wish, by=request.user, listener=get_object_or_404(Listener, pk=alert_id))


@alerts.delete(
    "/{alert_id}",
    response={204: None},
    summary="Delete an alert with its deliveries; it can be restored for a day",
)
@may_delete
def delete_alert(request: AuthenticatedRequest, alert_id: AlertId) -> Status:
    row = get_object_or_404(Listener, pk=alert_id)
    if row.user:
        drop_summary(row.user, by=request.user)
    else:
        remove_listener(row, by=request.user)
    return Status(204, None)


@alerts.post(
    "/{alert_id}/restore",
    response=ListenerOut,
    summary="Restore an alert that was deleted less than a day ago, with its deliveries",
)
@may_delete
def restore_alert(request: AuthenticatedRequest, alert_id: AlertId) -> Listener:
    return restore_listener(alert_id, by=request.user)


@listed(
    alerts,
    "/{alert_id}/deliveries",
    QueryList(DeliveryOut, read=list),
    summary="List deliveries of an alert, latest first",
)
@may_view
def list_alert_deliveries(request: AuthenticatedRequest, alert_id: AlertId) -> QuerySet[Delivery]:
    return get_object_or_404(Listener, pk=alert_id).deliveries.all()


@alerts.post(
    "/{alert_id}/deliveries/{delivery_id}/resend",
    response=DeliveryOut,
    summary="Send a delivery again",
)
@may_change
def resend_alert_delivery(
    request: AuthenticatedRequest,
    alert_id: AlertId,
    delivery_id: Annotated[int, Path(ge=1, le=LARGEST)],
) -> Delivery:
    delivery = get_object_or_404(Delivery, pk=delivery_id, listener=alert_id)
    send_again(delivery, by=request.user)
    delivery.refresh_from_db()
    return delivery


@alerts.post(
    "/{alert_id}/test",
    response={202: DeliveryOut},
    summary="Send a test message; the delivery shows whether it arrived",
)
@may_change
def test_alert(request: AuthenticatedRequest, alert_id: AlertId) -> Status:
    return Status(202, send_test(get_object_or_404(Listener, pk=alert_id), by=request.user))


class SummaryOut(Schema):
    is_on: bool
    address: str = Field(description="the e-mail of the account, which administrators change")
    why_not: str = Field(description="why none can be sent, a sentence; empty: one can")
    next_at: datetime = Field(description="end of the week that is told of next")
    latest: DeliveryOut | None = Field(description="the latest that was sent; null: none")


class SummaryChange(Schema):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"is_on": True}]})
    is_on: bool


@summaries.get("", response=SummaryOut, summary="Get whether you get a weekly summary by mail")
@may_see_crawls
def get_weekly_summary(request: AuthenticatedRequest) -> dict[str, Any]:
    """The summary covers crawls that you own or that your teams have."""
    row = Listener.objects.filter(user=request.user).first()
    zone = zone_of_listener(row or Listener(user=request.user))
    return {
        "is_on": row is not None,
        "address": request.user.email,
        "why_not": summary_obstacle(request.user),
        "next_at": week_end(timezone.now(), zone) + WEEK,
        "latest": row.deliveries.first() if row else None,
    }


@summaries.put("", response=SummaryOut, summary="Choose whether you get a weekly summary by mail")
@may_see_crawls
def set_weekly_summary(
    request: AuthenticatedRequest, change: Annotated[SummaryChange, Body()]
) -> dict[str, Any]:
    if change.is_on:
        choose_summary(request.user)
    else:
        drop_summary(request.user, by=request.user)
    return get_weekly_summary(request)


ROUTERS = (("/alerts", alerts, "alerts"), ("/weekly-summary", summaries, "alerts"))

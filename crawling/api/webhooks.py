"""`/api/webhooks`: who is told what becomes of runs, and every telling."""

# No postponed annotations here: ninja reads them, and could not resolve names behind Django's decorator.

from datetime import datetime
from typing import Annotated, Any

from django.shortcuts import get_object_or_404
from ninja import Body, Path, Router, Schema, Status
from pydantic import Field, WithJsonSchema

from crawling.api.parameters import LARGEST, Cursor, Limit
from crawling.api.permissions import Asking, needs
from crawling.models import Delivery, Webhook
from crawling.rules.webhooks import Event
from crawling.services.webhooks import remove_webhook, save_webhook, send_again

webhooks = Router()
may_view, may_change, may_delete = (needs(f"crawling.{verb}_webhook") for verb in ("view", "change", "delete"))
WebhookId = Annotated[int, Path(ge=1, le=LARGEST)]
TEXT = {"type": "string"}
ORDER = {
    "title": "WebhookOrder",
    "type": "object",
    "properties": {
        "name": {**TEXT, "maxLength": 100},
        "url": {**TEXT, "maxLength": 2000},
        "events": {"type": "array", "items": {**TEXT, "enum": [str(event) for event in Event]}, "minItems": 1},
        "is_on": {"type": "boolean", "default": True},
    },
    "required": ["name", "url", "events"],
    "additionalProperties": False,
    "examples": [{"name": "Chat", "url": "https://chat.example.org/hooks/crawls", "events": ["finished", "failed"]}],
}
#: read by `crawling.rules.webhooks`, as every door does
Wish = Annotated[dict[str, Any], WithJsonSchema(ORDER)]


class WebhookOut(Schema):
    id: int
    name: str
    url: str
    events: list[str]
    is_on: bool


class WebhookMade(WebhookOut):
    secret: str = Field(description="signs what is sent: HMAC-SHA256 over `TIMESTAMP.BODY`")


class WebhookList(Schema):
    items: list[WebhookOut]


class DeliveryOut(Schema):
    id: int
    event: str
    body: str = Field(description="what is sent, byte by byte")
    created_at: datetime
    attempts: int
    next_try_at: datetime | None
    delivered_at: datetime | None
    outcome: str = Field(description="of the last attempt")


class DeliveryPage(Schema):
    items: list[DeliveryOut]
    next: int | None


@webhooks.get("", response=WebhookList, summary="Who is told what becomes of runs")
@may_view
def index(request: Asking) -> dict[str, Any]:
    return {"items": list(Webhook.objects.all())}


@webhooks.post("", response={201: WebhookMade}, summary="Tell an address what becomes of runs")
@may_change
def create(request: Asking, wish: Annotated[Wish, Body()]) -> Status:
    return Status(201, save_webhook(wish, by=request.user))


@webhooks.put("/{webhook_id}", response=WebhookOut, summary="Change a webhook; its secret stays")
@may_change
def change(request: Asking, webhook_id: WebhookId, wish: Annotated[Wish, Body()]) -> Webhook:
    return save_webhook(wish, by=request.user, webhook=get_object_or_404(Webhook, pk=webhook_id))


@webhooks.delete("/{webhook_id}", response={204: None}, summary="Remove a webhook and its deliveries")
@may_delete
def remove(request: Asking, webhook_id: WebhookId) -> Status:
    remove_webhook(get_object_or_404(Webhook, pk=webhook_id), by=request.user)
    return Status(204, None)


@webhooks.get("/{webhook_id}/deliveries", response=DeliveryPage, summary="What it was told, the latest first")
@may_view
def deliveries(request: Asking, webhook_id: WebhookId, cursor: Cursor = None, limit: Limit = 50) -> dict[str, Any]:
    rows = get_object_or_404(Webhook, pk=webhook_id).deliveries.filter(pk__lt=cursor or LARGEST)
    found = list(rows[: limit + 1])
    return {"items": found[:limit], "next": found[limit - 1].pk if len(found) > limit else None}


@webhooks.post("/{webhook_id}/deliveries/{delivery_id}/again", response=DeliveryOut, summary="Send it once more")
@may_change
def again(request: Asking, webhook_id: WebhookId, delivery_id: Annotated[int, Path(ge=1, le=LARGEST)]) -> Delivery:
    delivery = get_object_or_404(Delivery, pk=delivery_id, webhook=webhook_id)
    send_again(delivery, by=request.user)
    delivery.refresh_from_db()
    return delivery

"""`/api/v1/templates` and `/api/v1/crawls/{id}/templates`: orders kept as templates for crawls."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from datetime import datetime
from typing import Annotated, Any

from django.shortcuts import get_object_or_404
from ninja import Body, Path, Router, Status
from pydantic import ConfigDict, Field, WithJsonSchema

from crawling.dashboard.base.api_parameters import (
    LARGEST,
    ORDER,
    CrawlId,
    may_add,
    may_delete,
    may_view,
)
from crawling.dashboard.base.api_schemas import CrawlDetail
from crawling.dashboard.base.requests import get_crawl
from crawling.dashboard.run.api.detail import detail
from crawling.models import OrderTemplate
from crawling.runs.crawls.templates import create_from_template, remove_template, save_template
from serving.access import AuthenticatedRequest
from serving.schemas import Schema

templates, keeping = Router(), Router()
TemplateId = Annotated[int, Path(ge=1, le=LARGEST)]
OTHERWISE = {
    "title": "FieldsOfAnOrder",
    "type": "object",
    "description": "a name, and fields of CrawlOrder that differ from the template",
    "properties": {"name": ORDER["properties"]["name"]},
    "required": ["name"],
    "examples": [{"name": "Manuals of June", "seeds": ["https://example.org/manual/"]}],
}
Otherwise = Annotated[dict[str, Any], WithJsonSchema(OTHERWISE)]


class NewTemplate(Schema):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "Manuals"}]})
    name: Annotated[str, Field(max_length=200)]


class TemplateOut(Schema):
    id: int
    name: str
    order: dict[str, Any]
    tags: list[str]
    created_at: datetime


class TemplateList(Schema):
    items: list[TemplateOut]


@templates.get("", response=TemplateList, summary="List templates by name")
@may_view
def list_templates(request: AuthenticatedRequest) -> dict[str, Any]:
    return {"items": list(OrderTemplate.objects.all())}


@keeping.post(
    "/{crawl_id}/templates",
    response={201: TemplateOut},
    summary="Save the order of a crawl as a template, without its secrets",
)
@may_add
def create_template(
    request: AuthenticatedRequest, crawl_id: CrawlId, asked: Annotated[NewTemplate, Body()]
) -> Status:
    return Status(201, save_template(get_crawl(crawl_id), asked.name, by=request.user))


@templates.get("/{template_id}", response=TemplateOut, summary="Get a template with its order")
@may_view
def get_template(request: AuthenticatedRequest, template_id: TemplateId) -> OrderTemplate:
    return get_object_or_404(OrderTemplate, pk=template_id)


@templates.delete(
    "/{template_id}", response={204: None}, summary="Delete a template; its crawls are kept"
)
@may_delete
def delete_template(request: AuthenticatedRequest, template_id: TemplateId) -> Status:
    remove_template(get_object_or_404(OrderTemplate, pk=template_id), by=request.user)
    return Status(204, None)


@templates.post(
    "/{template_id}/crawls", response={201: CrawlDetail}, summary="Create a crawl from a template"
)
@may_add
def create_crawl_from_template(
    request: AuthenticatedRequest, template_id: TemplateId, otherwise: Annotated[Otherwise, Body()]
) -> Status:
    """Send a name, and the fields that differ from the template."""
    return Status(
        201,
        detail(
            create_from_template(
                get_object_or_404(OrderTemplate, pk=template_id), otherwise, by=request.user
            )
        ),
    )

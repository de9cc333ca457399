"""The kinds of documents that lists of pages distinguish, by the content type that was detected."""

from __future__ import annotations

from typing import Annotated, Literal

from django.db import models
from django.db.models import F, Func
from ninja import Query


class PageKind(models.TextChoices):
    HTML = "html", "HTML"
    PDF = "pdf", "PDF"
    IMAGE = "image", "Images"
    STYLE = "style", "Styles"
    SCRIPT = "script", "Scripts"
    DATA = "data", "Data (JSON, XML, CSV)"
    TEXT = "text", "Other text"
    MEDIA = "media", "Sound, film, fonts"
    OTHER = "other", "Other"


PageType = Annotated[
    Literal["", *PageKind.values],  # type: ignore[valid-type]
    Query(description="only pages of a kind of document, by their sniffed content types"),
]
#: the same expression as in the index `pages_by_kind`, so a change requires a migration
SQL = """CASE
WHEN {type} IN ('text/html', 'application/xhtml+xml') THEN 'html'
WHEN {type} = 'application/pdf' THEN 'pdf'
WHEN starts_with({type}, 'image/') THEN 'image'
WHEN {type} = 'text/css' THEN 'style'
WHEN {type} IN ('text/javascript', 'application/javascript', 'application/x-javascript',
    'application/ecmascript', 'text/ecmascript') THEN 'script'
WHEN {type} IN ('application/json', 'application/ld+json', 'application/feed+json',
    'application/xml', 'text/xml', 'application/rss+xml', 'application/atom+xml',
    'application/rdf+xml', 'text/csv', 'text/tab-separated-values') THEN 'data'
WHEN starts_with({type}, 'text/') THEN 'text'
WHEN starts_with({type}, 'audio/') OR starts_with({type}, 'video/') OR starts_with({type}, 'font/')
    THEN 'media'
ELSE 'other' END"""


def kind_of_page() -> Func:
    """The kind of each page, as a column of a query."""
    template = SQL.format(type="%(expressions)s")
    return Func(F("content_type"), template=template, output_field=models.TextField())

"""The stored section of an order about requests: secrets sealed, the rest in clear."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crawling.models import CrawlJob
from crawling.orders.sections.fetching import SECRET_FIELDS, FetchingPart
from crawling.sealed_text import seal, unseal
from crawling.web.secret_headers import MASK

SEALED = "sealed"


def column_of(part: FetchingPart) -> dict[str, Any]:
    """The column of a crawl."""
    fields = FetchingPart.model_validate(part.model_dump(include=set(FetchingPart.model_fields)))
    secrets = {name: value for name in SECRET_FIELDS if (value := getattr(fields, name))}
    return {**fields.masked(), **({SEALED: seal(secrets)} if secrets else {})}


def shown(crawl: CrawlJob) -> dict[str, Any]:
    """The fields without secrets."""
    return {
        **FetchingPart().masked(),
        **{name: value for name, value in crawl.fetching.items() if name != SEALED},
    }


def fetching_of(crawl: CrawlJob) -> FetchingPart:
    """The fields with their secrets, for requests and for copies of the crawl.

    Raises SealBroken.
    """
    return FetchingPart.model_validate({**shown(crawl), **_secrets(crawl)})


def _secrets(crawl: CrawlJob) -> dict[str, Any]:
    masked = [name for name in SECRET_FIELDS if MASK in str(crawl.fetching.get(name))]
    empty: dict[str, Any] = {name: None if name == "proxy" else {} for name in masked}
    return {**empty, **(unseal(crawl.fetching[SEALED]) if SEALED in crawl.fetching else {})}


def unmasked(crawl: CrawlJob, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of an edit, in which a value as it is shown stands for the secret that is kept.

    Raises SealBroken.
    """
    seen, kept = shown(crawl), fetching_of(crawl).model_dump()
    meant = dict(fields)
    for name in SECRET_FIELDS & fields.keys():
        given = fields[name]
        if isinstance(given, dict) and isinstance(kept[name], dict):
            meant[name] = {
                key: kept[name].get(key, text) if seen[name].get(key) == text else text
                for key, text in given.items()
            }
        elif given == seen[name]:
            meant[name] = kept[name]
    return meant


def change_asking(crawl: CrawlJob, values: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Change checked fields, unsaved; returns those that differ, old and new as they may be shown.

    Raises SealBroken.
    """
    before, seen = fetching_of(crawl), shown(crawl)
    changed = {name: value for name, value in values.items() if getattr(before, name) != value}
    if changed:
        crawl.fetching = column_of(before.model_copy(update=changed))
    return {name: (seen[name], crawl.fetching[name]) for name in changed}

"""Choices are text for programs and commands alike: an error that lists them shows no objects of
Python.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from enum import Enum
from typing import Any, Literal, get_args, get_origin

import pytest
from django.core.management import get_commands, load_command_class
from pydantic import BaseModel

from allocation.services import create_pool
from crawling.models import AllowedNetwork
from crawling.orders.scope.blocklist import BlocklistKind
from crawling.orders.scope.url_rules import UrlRuleKind
from crawling.runs.crawls.creation import create_crawl
from crawlsite.api.root import api
from tests.crawling.conftest import CLASSES
from tests.crawling.pages import browser

OF_US = ("allocation", "crawling", "crawlsite", "dnscache")


def literals(kind: Any, seen: set[type]) -> Iterator[object]:
    """All that literals in a type name, within its models, too."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        if kind not in seen:
            seen.add(kind)
            for field in kind.model_fields.values():
                yield from literals(field.annotation, seen)
    elif get_origin(kind) is Literal:
        yield from get_args(kind)
    else:
        for part in get_args(kind):
            yield from literals(part, seen)


def test_no_field_of_the_api_chooses_among_objects():
    seen: set[type] = set()
    named = [
        one
        for _, router in api._routers
        for view in router.path_operations.values()
        for operation in view.operations
        for model in operation.models
        for one in literals(model, seen)
    ]

    assert len(named) > 50
    assert [one for one in named if isinstance(one, Enum)] == []


def choices(parser: ArgumentParser) -> Iterator[object]:
    for action in parser._actions:
        for name in action.choices or ():
            yield name
            if isinstance(action.choices, dict):
                yield from choices(action.choices[name])


def test_no_command_chooses_among_objects():
    named = [
        one
        for name, app in get_commands().items()
        if isinstance(app, str) and app.startswith(OF_US)
        for one in choices(load_command_class(app, name).create_parser("manage.py", name))
    ]

    assert len(named) > 50
    assert [one for one in named if isinstance(one, Enum)] == []


@pytest.mark.parametrize(
    ("place", "body", "known"),
    [
        ("blocklist", {"kind": "x", "text": "a.test", "reason": "asked for"}, BlocklistKind),
        ("crawls/{}/watches", {"kind": "x", "text": "a.test"}, UrlRuleKind),
        ("crawls/{}/withdrawals/preview", {"kind": "x", "text": "a.test"}, UrlRuleKind),
    ],
)
def test_an_unknown_kind_is_told_those_that_are_known(db, place, body, known):
    AllowedNetwork.objects.create(network="127.0.0.0/8", port_from=1024, port_to=65535)
    create_pool(name="default", classes=CLASSES)
    crawl = create_crawl({"name": "a", "seeds": ["http://127.0.0.1:8900/"]})

    answer = browser("administrator").post(
        f"/api/v1/{place.format(crawl.pk)}", body, content_type="application/json"
    )

    assert answer.status_code == 422
    *others, last = [repr(str(one)) for one in known]
    assert answer.json()["errors"]["kind"] == f"must be {', '.join(others)} or {last}"

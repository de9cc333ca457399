"""Secret parts of addresses are in no line of the log."""

from __future__ import annotations

import json
import logging
import re
import sys

import pytest
from django.test import Client, RequestFactory
from django.urls import URLResolver, get_resolver

from crawlsite.logs import logging_setting
from crawlsite.middleware.secret_addresses import SecretAddressFilter, without_secrets

SECRET = "eyJhIjoxfQ:1abc-DEF_:xyz"


def line_of(record, style="json"):
    options = dict(logging_setting(level="INFO", style=style)["formatters"]["line"])
    return options.pop("()")(**options).format(record)


def secret_routes(patterns, prefix=""):
    """The routes of the site that begin with a token."""
    for one in patterns:
        route = prefix + str(one.pattern)
        if isinstance(one, URLResolver):
            yield from secret_routes(one.url_patterns, route)
        elif re.match(r"([a-z-]+/)+<(str|slug):", route) and "token" in route:
            yield route


@pytest.fixture
def lines(caplog):
    """The lines of the log as they are written, in both styles."""

    def written():
        return [line_of(one, style) for one in caplog.records for style in ("json", "people")]

    return written


@pytest.mark.parametrize("route", sorted(secret_routes(get_resolver().url_patterns)))
def test_an_address_that_answers_404_is_logged_without_its_secret(db, lines, route):
    address = "/" + re.sub(r"<\w+:number>", "3", re.sub(r"<\w+:token>", "Secret-1_x", route))

    assert Client().get(address).status_code == 404

    told = lines()
    assert [one for one in told if "Not Found: /" in one]
    assert not [one for one in told if "Secret-1_x" in one]


def test_the_routes_with_secrets_are_all_known():
    assert len(set(secret_routes(get_resolver().url_patterns))) >= 4


@pytest.mark.parametrize(
    "text",
    [
        f"Not Found: /stored/{SECRET}/3/",
        f"<WSGIRequest: GET '/shared/{SECRET}/?kind=broken'>",
        f"Error handling request GET /open/{SECRET}",
        f"see https://crawls.example.org/watches/{SECRET}/feed.atom",
        f"/news/{SECRET}/feed.atom",
    ],
)
def test_no_form_of_an_address_has_its_secret(text):
    assert SECRET not in without_secrets(text)


@pytest.mark.parametrize("text", ["/crawls/1/watches/5/", "stored/1", "/crawls/1/shared/2/"])
def test_other_addresses_stay_as_they_are(text):
    assert without_secrets(f"Not Found: {text}") == f"Not Found: {text}"


def test_tracebacks_and_facts_beside_a_message_have_none(rf: RequestFactory):
    try:
        raise ValueError(f"bad: /stored/{SECRET}/3/")
    except ValueError:
        record = logging.LogRecord("a", logging.ERROR, "f", 1, "failed", None, sys.exc_info())
    record.request = rf.get(f"/stored/{SECRET}/3/")

    for style in ("json", "people"):
        assert SECRET not in line_of(record, style)
    assert json.loads(line_of(record))["event"] == "failed"


def test_the_web_servers_own_lines_have_none():
    record = logging.LogRecord(
        "gunicorn.error",
        40,
        "f",
        1,
        "Error handling request %s %s",
        ("GET", f"/open/{SECRET}"),
        None,
    )
    assert SecretAddressFilter().filter(record)
    assert record.getMessage() == "Error handling request GET /open/…"

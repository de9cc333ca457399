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
from crawlsite.middleware.secret_addresses import SecretAddressFilter, address_hider

hides = address_hider(["crawls.example.org", ".replay.example.org"])
SECRET = "eyJhIjoxfQ:1abc-DEF_:xyz"


def line_of(record, style="json"):
    options = logging_setting(level="INFO", style=style, own_hosts=["crawls.example.org"])
    options = dict(options["formatters"]["line"])
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
        f"http://127.0.0.1:8000/stored/{SECRET}/3/",
        f"http://r5-1.localhost:8020/open/{SECRET}",
        f"https://r5.Replay.example.org/open/{SECRET}",
    ],
)
def test_no_form_of_an_address_has_its_secret(text):
    assert SECRET not in hides(text)


@pytest.mark.parametrize("text", ["/crawls/1/watches/5/", "stored/1", "/crawls/1/shared/2/"])
def test_other_addresses_stay_as_they_are(text):
    assert hides(f"Not Found: {text}") == f"Not Found: {text}"


@pytest.mark.parametrize(
    "url",
    [
        "https://bbc.example/news/12345",
        "https://www.crawls.example.org/open/5",
        "https://crawls.example.org.evil.example/shared/5",
        "http://127.0.0.10/stored/5",
        "https://example.org/?next=https://bbc.example/watches/5",
    ],
)
def test_addresses_of_crawled_sites_are_logged_whole(url):
    assert hides(f"cannot fetch {url}: refused") == f"cannot fetch {url}: refused"


def test_the_hosts_of_the_installation_are_known_to_its_log():
    record = logging.LogRecord(
        "a", 40, "f", 1, f"https://crawls.example.org/open/{SECRET}", None, None
    )
    for style in ("json", "people"):
        assert SECRET not in line_of(record, style)


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
    assert SecretAddressFilter(hides).filter(record)
    assert record.getMessage() == "Error handling request GET /open/…"


def test_tracebacks_of_the_web_server_have_none():
    try:
        raise ValueError(f"bad: /stored/{SECRET}/3/")
    except ValueError:
        record = logging.LogRecord("a", 40, "f", 1, "Error handling", None, sys.exc_info())

    SecretAddressFilter(hides).filter(record)

    line = logging.Formatter().format(record)
    assert SECRET not in line
    assert "ValueError: bad: /stored/…/3/" in line

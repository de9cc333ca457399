"""Which URLs share a pattern, and which look like a trap's: without a crawl."""

import re
import time

import pytest

from crawling.orders.scope.trap_gate import TrapGate, TrapState
from crawling.orders.scope.trap_patterns import (
    address_without_session_id,
    expression_for,
    pattern_of,
    patterns_by_parameter,
    site_pattern,
    suspicious_pattern,
)
from crawling.web.addresses import read_address


def address(target):
    return read_address(f"http://a.test{target}")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/article/1", "/article/22"),
        ("/p-12.html", "/p-3.html"),
        ("/list?page=1&sort=name", "/list?page=2&sort=date"),
        (
            "/item/550e8400-e29b-41d4-a716-446655440000",
            "/item/650e8400-e29b-41d4-a716-44665544ffff",
        ),
        ("/deadbeef01/x", "/0badcafe/x"),
        ("/t/1/2/3", "/t/1/2/3/4/5"),
        ("/k3j9x2ab41qz/news", "/p8w1m5cc02fd/help"),
        ("/shop/qgtmzkdwpy5vbnhs/a.html", "/shop/kdwpy7vbnhsqgtmz/b.html"),
        ("/list?color=red&size=m", "/list?size=l&color=blue"),
        ("/list?color=red;size=m", "/list?size=l&color=blue"),
        ("/list?f=1", "/list?f=1&f=2&f=3"),
        ("/list?f[]=1&f[]=2&p=1", "/list?p=2&f[]=7"),
        ("/list?a=1&b=1&c=1&d=1", "/list?d=2&c=2&b=2&a=2"),
    ],
)
def test_urls_that_differ_by_numbers_ids_and_values_share_a_pattern(one, other):
    assert pattern_of(address(one)) == pattern_of(address(other)) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/a/1", "/b/1"),
        ("/list?page=1", "/list?from=1"),
        ("/list?page=1", "/list?page=1&from=1"),
        ("/list?a=1&b=1&c=1&d=1", "/search?a=1&b=1&c=1&d=1"),
        ("/?option=news&view=page&id=7&at=3", "/?option=days&year=2026&month=3&day=7"),
        ("/list?print", "/list?print=1"),
        ("/facade1/", "/arcade1g/"),
        ("/windows10/a", "/windows10/b"),
    ],
)
def test_urls_that_differ_by_words_do_not(one, other):
    assert pattern_of(address(one)) != pattern_of(address(other))


def test_a_pattern_belongs_to_one_origin():
    assert (
        pattern_of(read_address("http://a.test/1")).key
        != pattern_of(read_address("http://b.test/1")).key
    )


@pytest.mark.parametrize("target", ["/", "/about/us", "/facade/decade"])
def test_what_nothing_counts_on_has_no_pattern(target):
    assert pattern_of(address(target)) is None


@pytest.mark.parametrize(
    ("target", "rule"),
    [
        ("/a/b/a/b/a/b/a/b", "repeats"),
        ("/x/x/x/x/", "repeats"),
        ("/" + "/".join(f"d{n}" for n in range(25)), "deep"),
        ("/p?" + "q=1&" * 300, "long"),
        ("/list?f=1&f=2&f=3&f=1", "repeats"),
        ("/list?f[]=1&p=1&f[]=2;f[]=3&f[]=4", "repeats"),
        ("/list?a=1&b=1&c=1&d=1", "parameters"),
        ("/calendar/2999/1", "calendar"),
        ("/events?year=1066", "calendar"),
    ],
)
def test_what_looks_endless_is_suspicious(target, rule):
    assert suspicious_pattern(address(target), year=2026).rule == rule


@pytest.mark.parametrize(
    "target",
    [
        "/a/b/c/d/e/f",
        "/archive/01/01/01/01/",
        "/calendar/2028/12",
        "/calendar/1990",
        "/forum/thread/2999/12",
        "/docs/en/guide/en/",
        "/?q=" + "x" * 900,
        "/list?f=1&f=2&f=3",
        "/list?a=1&b=1&c=1",
        "/list?" + "&" * 9,
        "/updates/1204",
        "/holidays/item-1500",
        "/candidates/1850/",
        "/birthday-card/1801",
    ],
)
def test_what_ordinary_sites_have_is_not(target):
    assert suspicious_pattern(address(target), year=2026) is None


@pytest.mark.parametrize(
    "target",
    [
        "/x;jsessionid=0123456789ABCDEF?q=1",
        "/x?q=1&PHPSESSID=0123456789abcdef",
        "/(S(0123456789abcdefghijklmn))/x?q=1",
        "/session/0123456789abcdefgh/x?q=1",
        "/sid=0123456789abcdefgh/x?q=1",
    ],
)
def test_ids_of_sessions_are_seen(target):
    assert address_without_session_id(address(target))[1].rule == "session"
    assert address_without_session_id(address(target))[0].endswith("/x?q=1")
    assert address_without_session_id(address("/x?side=0123456789")) is None
    assert address_without_session_id(address("/session/introduction")) is None


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (TrapState.QUARANTINED, (True, False)),
        (TrapState.APPROVED, (False, False)),
        (TrapState.BANNED, (False, True)),
        (None, (False, False)),
    ],
)
def test_what_was_said_of_a_pattern_holds_for_its_links(state, expected):
    link = address("/article/7")
    gate = TrapGate(2026, {pattern_of(link).key: state} if state else {})

    judged = gate.judge(address("/article/8"))

    assert (judged.trap is not None, judged.is_banned) == expected


@pytest.mark.parametrize(
    ("target", "is_held"),
    [
        ("/list?color=1&size=1", True),
        ("/list?size=1&color=1", True),
        ("/list?f=1;color=2;g=1", True),
        ("/list?" + "&".join(f"{name}=1" for name in ("color", *"abcdefg")), True),
        ("/list?color=1", False),
        ("/list?mycolor=1&size=1", False),
        ("/list?size=1&sort=1", False),
        ("/other?color=1&size=1", False),
        ("/list?color&size=1&sort=1", False),
    ],
)
def test_a_parameter_is_held_with_any_others_in_any_order(target, is_held):
    first, _ = patterns_by_parameter(address("/list?color=1&size=2"))

    judged = TrapGate(2026, {first.key: TrapState.QUARANTINED}).judge(address(target))

    assert judged.trap == (first if is_held else None)
    assert bool(re.search(expression_for(first), address(target).url)) == is_held


def test_a_site_is_held_but_for_what_was_let_in():
    link, number = address("/about/us"), address("/item/7")
    states = {site_pattern(link).key: TrapState.QUARANTINED}

    assert TrapGate(2026, states).judge(link).trap == site_pattern(number)
    states[pattern_of(number).key] = TrapState.APPROVED
    assert TrapGate(2026, states).judge(address("/item/8")).trap is None
    assert TrapGate(2026, states).judge(read_address("http://b.test/x")).trap is None
    assert re.search(expression_for(site_pattern(link)), "http://a.test/any")
    assert not re.search(expression_for(site_pattern(link)), "http://a.test.example/any")


@pytest.mark.parametrize(
    "target",
    [
        "/" + "a" * 4000,
        "/" + "0-" * 2000,
        "/" + "a1" * 2000,
        "/?" + "=" * 4000,
        "/?" + "a=&" * 1300,
        "/?" + ";" * 4000,
        "/?" + "&".join(f"{n}" for n in range(1000)),
        "/" + "1/" * 2000,
        "/" + ";sid=" * 800,
        "/" + "/sid/a" * 600,
        "/" + "a1b2c3d4e5f6/" * 300,
    ],
)
def test_hostile_urls_are_judged_in_no_time(target):
    gate = TrapGate(2026, {1: TrapState.QUARANTINED})
    started = time.process_time()
    for _ in range(20):
        gate.judge(address(target))

    assert time.process_time() - started < 1

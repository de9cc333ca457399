"""Temporary faults: robots.txt, redirects, handshakes and rests that cost time, and no URLs."""

from __future__ import annotations

from crawling.web.statuses import FetchStatus
from tests.webs.case import Case, answer, links

AT_ONCE = {"host_patience_seconds": 0}


def moved(to: str, **headers: str) -> bytes:
    return answer(headers={"Location": to, **headers}, status=302)


def opens_with_a_cookie(talk):
    is_seen = "seen=1" in talk.asked.headers.get("cookie", "")
    return answer("inside") if is_seen else moved("/", **{"Set-Cookie": "seen=1"})


def opens_with_a_cookie_of_the_gate(talk):
    is_seen = "seen=1" in talk.asked.headers.get("cookie", "")
    return answer("inside") if is_seen else moved("/gate")


def robots_txt_comes_the_second_time(talk):
    return (
        answer(status=500) if talk.try_number == 1 else answer("User-agent: *", kind="text/plain")
    )


def falls_silent(talk):
    """After its first page the host does not answer until that page is requested a third time."""
    asked = [asked.target for asked in talk.server.asked]
    if len(asked) > 2 and asked.count("/") < 3:
        talk.wait_for_hang_up()
        return None
    if talk.path == "/robots.txt":
        return answer("User-agent: *", kind="text/plain")
    return answer(links("/a", "/b", "/c"))


wishes_for_days = answer(status=503, headers={"Retry-After": "900000"})

CASES: list[Case] = [
    Case(
        "a redirect to itself",
        {"/": moved("/")},
        verdict=("f", FetchStatus.REDIRECT_LOOP),
        small=True,
    ),
    Case(
        "a redirect in a loop of three",
        {"/": moved("/a"), "/a": moved("/b"), "/b": moved("/")},
        verdict=("f", FetchStatus.REDIRECT_LOOP),
        pages_end=dict.fromkeys(("/a", "/b"), ("f", FetchStatus.REDIRECT_LOOP)),
        small=True,
    ),
    Case(
        "a redirect to nowhere",
        {"/": answer(status=302)},
        verdict=("f", FetchStatus.REDIRECT_NOWHERE),
        small=True,
    ),
    Case(
        "redirects that end nowhere",
        {"/": moved("/a"), "/a": moved("mailto:nobody@a.test")},
        verdict=("f", FetchStatus.REDIRECT_NOWHERE),
        pages_end={"/a": ("f", FetchStatus.REDIRECT_NOWHERE)},
        small=True,
    ),
    Case(
        "a redirect to a page that is known",
        {"/": answer(links("/a", "/b")), "/a": moved("/b"), "/b": answer("b")},
        pages_end={"/a": ("s", 302), "/b": ("s", 200)},
        small=True,
    ),
    Case(
        "a redirect written in latin-1",
        {
            "/": moved("/caf\xe9"),
            "/caf%E9": answer("open"),
        },
        verdict=("s", 302),
        pages_end={"/caf%E9": ("s", 200)},
        small=True,
    ),
    Case(
        "a page behind a cookie",
        {"/": opens_with_a_cookie},
        tries=2,
        order={"cookies": True},
        small=True,
    ),
    Case(
        "a circle of two that a cookie opens",
        {"/": opens_with_a_cookie_of_the_gate, "/gate": moved("/", **{"Set-Cookie": "seen=1"})},
        tries=2,
        pages_end={"/gate": ("s", 302)},
        order={"cookies": True},
        small=True,
    ),
    Case(
        "a circle of two that no cookie opens",
        {"/": moved("/gate"), "/gate": moved("/", **{"Set-Cookie": "seen=1"})},
        verdict=("f", FetchStatus.REDIRECT_LOOP),
        tries=3,
        pages_end={"/gate": ("f", FetchStatus.REDIRECT_LOOP)},
        order={"cookies": True},
        small=True,
    ),
    Case(
        "a cookie that is never let in",
        {"/": moved("/", **{"Set-Cookie": "seen=1"})},
        verdict=("f", FetchStatus.REDIRECT_LOOP),
        tries=4,
        order={"cookies": True},
        small=True,
    ),
    Case(
        "no robots.txt, and a crawl that does not wait",
        {"/robots.txt": answer(status=500), "/": answer("x")},
        verdict=("f", FetchStatus.ROBOTS_UNAVAILABLE),
        tries=0,
        order=AT_ONCE,
        small=True,
    ),
    Case(
        "a wish for days of rest, and a crawl that does not wait",
        {"/": answer(status=429, headers={"Retry-After": "900000"})},
        verdict=("f", FetchStatus.HOST_BUSY),
        order=AT_ONCE,
        small=True,
    ),
    Case(
        "a wish for days of rest, and a crawl that waits for seconds",
        {"/": answer(links("/a", "/b")), "/a": wishes_for_days, "/b": wishes_for_days},
        pages_end=dict.fromkeys(("/a", "/b"), ("f", FetchStatus.HOST_BUSY)),
        most_requests=4,
        order={"host_patience_seconds": 3},
        small=True,
    ),
    Case(
        "robots.txt the second time",
        {"/robots.txt": robots_txt_comes_the_second_time, "/": answer("x")},
        # one pause of 60 s; if on a busy machine the second try times out, 120 s more
        seconds=210,
    ),
    Case(
        "a host that answers nothing for a while",
        dict.fromkeys(("/robots.txt", "/", "/a", "/b", "/c"), falls_silent),
        pages_end=dict.fromkeys(("/a", "/b", "/c"), ("s", 200)),
        tries=3,
        order={"read_seconds": 1},
        # rests of 5 s after each page, and of 5 and 10 s before the known page is requested again
        seconds=120,
    ),
]

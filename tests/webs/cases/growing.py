"""Documents that grow when they are read, and large ones of one thing."""

from __future__ import annotations

from functools import cache

from tests.webs.case import Case, answer

XML = "application/xml"
MIB = 2**20


def urlset(*targets):
    entries = "".join(f"<url><loc>{target}</loc></url>" for target in targets)
    return f"<?xml version='1.0'?><urlset>{entries}</urlset>"


def of(talk, *paths):
    origin = talk.server.origin
    return [origin + path for path in paths]


@cache
def repeated(unit, size, before=""):
    return answer(before.encode() + unit * (size // len(unit)))


def sitemap_with_entities(talk):
    return answer(urlset(*of(talk, "/a", "/never-&f;")), kind=XML)


def expanding_entities(talk):
    """A billion laughs."""
    names = [f"<!ENTITY e{n} '{f'&e{n - 1};' * 10}'>" for n in range(1, 10)]
    kinds = "<!ENTITY e0 'http://a.test/'>" + "".join(names)
    return answer(f"<!DOCTYPE urlset [{kinds}]>" + urlset("&e9;"), kind=XML)


def finds(*paths):
    """The run knows the seed and these, and nothing else of the host."""

    def judge(seen):
        of_host = seen.run.urls.filter(url__startswith=seen.server.origin)
        urls = of_host.values_list("url", flat=True)
        found = {url.removeprefix(seen.server.origin) for url in urls}
        wanted = {seen.case.seed, *paths}
        return [] if found == wanted else [f"found {sorted(found)}, not {sorted(wanted)}"]

    return judge


CASES: list[Case] = [
    Case(
        "entities in a sitemap that nobody expands",
        {"/": sitemap_with_entities, "/a": answer("a")},
        judge=finds("/a"),
        small=True,
    ),
    Case(
        "entities that expand to a billion addresses",
        {"/": expanding_entities},
        judge=finds(),
        small=True,
    ),
    Case(
        "a robots.txt of 1 MiB of stars",
        {
            "/robots.txt": repeated(b"*a", MIB, "user-agent: *\ndisallow: /"),
            "/": answer("a"),
        },
        small=True,
    ),
    *(
        Case(
            f"4 MiB of HTML: {name}",
            {"/": repeated(unit, 4 * MIB, before)},
            seconds=30,
            mib=400,
        )
        for name, unit, before in (
            ("elements in each other", b"<div>", ""),
            ("formatting opened again", b"<p>x", "<b><i><u><s><tt><em><big>" * 3),
            ("comments that do not end", b"<!--", ""),
            ("links that do not end", b"<a ", ""),
            ("ampersands", b"&", ""),
        )
    ),
]

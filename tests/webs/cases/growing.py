"""Documents that grow when they are read, and large ones with one repeated part."""

from __future__ import annotations

from collections import Counter
from functools import cache
from gzip import compress
from hashlib import sha256

from crawling.web.statuses import FetchStatus
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
    """The run knows only the seed and these URLs of the host."""

    def judge(seen):
        of_host = seen.run.urls.filter(url__startswith=seen.server.origin)
        urls = of_host.values_list("url", flat=True)
        found = {url.removeprefix(seen.server.origin) for url in urls}
        wanted = {seen.case.seed, *paths}
        return [] if found == wanted else [f"found {sorted(found)}, not {sorted(wanted)}"]

    return judge


@cache
def numbered(unit, count):
    return answer("".join(unit.format(number) for number in range(count)))


@cache
def packed_map():
    pages = (f"<url><loc>http://a.test/{n}/{'x' * 900}</loc></url>" for n in range(50_000))
    return answer(compress(f"<urlset>{''.join(pages)}</urlset>".encode(), 1), kind=XML)


def shape_after_shape(talk):
    """Each page links to the next near its beginning."""
    number = int(talk.path.strip("/") or -1) + 1
    unit, before = list(SHAPES.values())[number % len(SHAPES)]
    return repeated(unit, 4 * MIB, f"<a href=/{number}>x</a>{before}")


#: for each name, the repeated unit and the text before it
SHAPES = {
    "elements in each other": (b"<div>", ""),
    "formatting opened again": (b"<p>x", "<b><i><u><s><tt><em><big>" * 3),
    "comments that do not end": (b"<!--", ""),
    "links that do not end": (b"<a ", ""),
    "ampersands": (b"&", ""),
    "less-than signs": (b"<", ""),
    "tables in each other": (b"<table><td><b>", ""),
}


def names_maps(talk):
    """Return a sitemap index that names two more, compressed in half of all cases; no name has a
    number.
    """
    made = sha256(talk.path.encode()).hexdigest().translate(LETTERS)
    origin = talk.server.origin
    entries = (
        f"<sitemap><loc>{origin}/{name}.xml</loc></sitemap>" for name in (made[:8], made[8:16])
    )
    body = f"<sitemapindex>{''.join(entries)}</sitemapindex>".encode()
    return answer(compress(body, mtime=0) if made[16] < "i" else body, kind=XML)


def ends_at_the_fourth(seen):
    of_host = seen.run.urls.filter(url__startswith=seen.server.origin)
    ends = Counter(of_host.values_list("state", "status"))
    wanted = {("s", 200): 7, ("f", FetchStatus.NESTED_SITEMAPS): 8}
    return [] if ends == wanted else [f"ended as {dict(ends)}"]


LETTERS = str.maketrans("0123456789", "ghijklmnop")

CASES: list[Case] = [
    Case(
        "sitemap indexes in each other, without end and without numbers",
        names_maps,
        most_requests=15,
        judge=ends_at_the_fourth,
        small=True,
    ),
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
        Case(f"4 MiB of HTML: {name}", {"/": repeated(unit, 4 * MIB, before)})
        for name, (unit, before) in SHAPES.items()
    ),
    Case(
        "a page of 50,000 links",
        {"/": numbered("<a href=/{0}>", 50_000)},
        order={"max_pages": 1},
    ),
    Case(
        "large pages of each shape, one after the other",
        shape_after_shape,
        pages_end={f"/{number}": ("s", 200) for number in range(len(SHAPES))},
        seconds=60,
    ),
    Case(
        "a packed sitemap of 50 MB",
        {"/": lambda talk: packed_map()},
        order={"max_pages": 1},
    ),
]

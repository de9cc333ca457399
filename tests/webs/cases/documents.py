"""Documents that are hostile to parsers, or odd."""

from __future__ import annotations

import gzip

from tests.webs.case import Case, answer, links

SITEMAP = "<urlset><url><loc>/found</loc></url></urlset>"
NESTED = "<urlset><loc>/found</loc>" + "<loc>http://aaa" * 200_000
FORMATTING = "".join(f"<b a{number}=b>" for number in range(10_000))
FOUND = {"/found": answer("here")}

CASES = [
    Case(
        "a style sheet that an expression could read in many ways",
        {
            "/": answer('<link rel=stylesheet href="/s.css">' + links("/found")),
            "/s.css": answer("a{background:url(" + "\\a" * 40, kind="text/css"),
            **FOUND,
        },
        pages_end={"/s.css": ("s", 200), "/found": ("s", 200)},
        order={"requisites": True},
        small=True,
    ),
    Case(
        "formatting elements that are opened again in each paragraph",
        {"/": answer(links("/found") + f"<p>{FORMATTING}</p>" + "<p>x" * 50_000), **FOUND},
        pages_end={"/found": ("s", 200)},
    ),
    Case(
        "attributes of html, one by one",
        {
            "/": answer(links("/found") + "".join(f"<html a{n}=b>" for n in range(50_000))),
            **FOUND,
        },
        pages_end={"/found": ("s", 200)},
    ),
    Case(
        "a packed sitemap of elements within each other",
        {"/": answer(gzip.compress(NESTED.encode()), kind="application/gzip"), **FOUND},
        pages_end={"/found": ("s", 200)},
    ),
    Case(
        "a packed sitemap that is called XML",
        {"/": answer(gzip.compress(SITEMAP.encode()), kind="application/xml"), **FOUND},
        pages_end={"/found": ("s", 200)},
        small=True,
    ),
    Case(
        "a sitemap packed as two files behind each other",
        {
            "/": answer(
                gzip.compress(SITEMAP[:20].encode()) + gzip.compress(SITEMAP[20:].encode()),
                kind="application/gzip",
            ),
            **FOUND,
        },
        pages_end={"/found": ("s", 200)},
        small=True,
    ),
    Case(
        "UTF-16 without a label",
        {"/": answer(links("/found").encode("utf-16-le"), kind="text/html"), **FOUND},
        pages_end={"/found": ("s", 200)},
        small=True,
    ),
    Case(
        "a Crawl-delay between two names of a group",
        {
            "/robots.txt": answer(
                "User-agent: other\nCrawl-delay: 0.1\nUser-agent: *\nDisallow: /x\n",
                kind="text/plain",
            ),
            "/": answer(links("/x", "/found")),
            "/x": answer("x"),
            **FOUND,
        },
        pages_end={"/found": ("s", 200), "/x": ("x", -8)},
        small=True,
    ),
]

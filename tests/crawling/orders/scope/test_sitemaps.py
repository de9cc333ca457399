"""A URL that robots.txt or an index names as a sitemap is no page: rules for pages are for the URLs
that it lists (sitemaps.org).
"""

from __future__ import annotations

from gzip import compress

import pytest

from crawling.models import Url, UrlState
from crawling.runs.crawls.blocklist import add_entry
from crawling.web.statuses import FetchStatus

XML = {"Content-Type": "application/xml"}


def listing(*urls):
    return 200, XML, "<urlset>" + "".join(f"<url><loc>{u}</loc></url>" for u in urls) + "</urlset>"


def index(*urls):
    listed = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return 200, XML, f"<sitemapindex>{listed}</sitemapindex>"


def naming(*maps, rules=""):
    lines = "".join(f"Sitemap: {url}\n" for url in maps)
    return 200, {"Content-Type": "text/plain"}, f"User-agent: *\n{rules}\n{lines}"


@pytest.mark.parametrize(
    "rules",
    [
        {"scope": "path"},
        {"include": ["/docs/"]},
        {"exclude": ["map"]},
        {"types": ["text/html"]},
        {"max_depth": 1},
        {"max_document_bytes": 80},
    ],
    ids=lambda rules: next(iter(rules)),
)
def test_no_rule_for_pages_keeps_a_sitemap_out(make_site, crawl_to_the_end, rules):
    page = (200, {"Content-Type": "text/html"}, "x")
    site = make_site({"/docs/": page, "/docs/found": page})
    site.pages["/robots.txt"] = naming("/maps/all.xml")
    site.pages["/maps/all.xml"] = index(f"{site.url}/maps/1.xml")
    site.pages["/maps/1.xml"] = listing(f"{site.url}/docs/found", f"{site.url}/docs/#{'x' * 99}")

    run = crawl_to_the_end(f"{site.url}/docs/", **rules)

    assert sorted(site.paths) == ["/docs/", "/docs/found", "/maps/1.xml", "/maps/all.xml"]
    assert Url.objects.get(run=run, url=f"{site.url}/docs/found").depth == 1


@pytest.mark.parametrize("kind", ["map", "index", "packed", "plain", "octets", "none", "moved"])
def test_a_seed_that_is_a_sitemap_is_read_as_one_whatever_types_are_wanted(
    make_site, crawl_to_the_end, kind
):
    page = (200, {"Content-Type": "text/html"}, "x")
    site = make_site({"/found": page, "/picture": (200, {"Content-Type": "image/png"}, "x")})
    written = listing(f"{site.url}/found", f"{site.url}/picture")
    body, types = written[2], {"plain": "text/plain", "octets": "application/octet-stream"}
    site.pages |= {
        "map": {"/seed": written},
        "index": {"/seed": index(f"{site.url}/map"), "/map": written},
        "packed": {"/seed": (200, {"Content-Type": "application/gzip"}, compress(body.encode()))},
        "none": {"/seed": (200, {}, f"<?xml version='1.0'?>{body}")},
        "moved": {"/seed": (302, {"Location": "/map"}, ""), "/map": written},
    }.get(kind) or {"/seed": (200, {"Content-Type": types[kind]}, f"<?xml version='1.0'?>{body}")}

    run = crawl_to_the_end(f"{site.url}/seed", types=["text/html"])

    of_path = {url.url.removeprefix(site.url): url for url in Url.objects.filter(run=run)}
    assert {"/found", "/picture"} <= set(site.paths)
    assert of_path["/seed"].status == (302 if kind == "moved" else 200)
    assert (of_path["/found"].status, of_path["/picture"].status) == (200, FetchStatus.WRONG_TYPE)


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/xml", "<other><loc>/found</loc></other>"),
        ("application/rss+xml", "<rss><channel><item><link>/found</link></item></channel></rss>"),
        ("text/plain", "http://a.test/ of urlset"),
        ("image/png", "<urlset><url><loc>/found</loc></url></urlset>"),
        ("application/gzip", compress(b"<other/>", mtime=0)),
    ],
    ids=["xml", "feed", "text", "image", "packed"],
)
def test_a_seed_of_a_type_that_is_not_wanted_and_no_sitemap_stays_out(
    make_site, crawl_to_the_end, content_type, body
):
    site = make_site({"/seed": (200, {"Content-Type": content_type}, body), "/found": "x"})

    run = crawl_to_the_end(f"{site.url}/seed", types=["text/html"])

    seed = Url.objects.get(run=run, url=f"{site.url}/seed")
    assert (seed.status, seed.state) == (FetchStatus.WRONG_TYPE, UrlState.EXCLUDED)
    assert "only text/html may be fetched" in seed.error
    assert site.paths == ["/seed"]


def test_what_a_sitemap_lists_is_judged_by_the_rules_for_pages(make_site, crawl_to_the_end):
    elsewhere = make_site({"/": "x", "/page": "x", "/map.xml": "x"}, address="127.0.0.2")
    site = make_site({"/docs/": "x", "/docs/a": "x", "/other": "x", "/docs/no": "x"})
    site.pages["/robots.txt"] = naming("/map.xml", "/index.xml", rules="Disallow: /private")
    site.pages["/map.xml"] = listing(
        f"{site.url}/docs/a", f"{site.url}/other", f"{site.url}/docs/no", f"{elsewhere.url}/page"
    )
    site.pages["/index.xml"] = index(f"{elsewhere.url}/map.xml", f"{site.url}/private/map.xml")

    crawl_to_the_end(f"{site.url}/docs/", scope="path", exclude=["/no$"])

    assert sorted(site.paths) == ["/docs/", "/docs/a", "/index.xml", "/map.xml"]
    assert elsewhere.paths == []


def test_a_sitemap_on_another_host_may_list_the_pages_of_the_host_that_names_it(
    make_site, crawl_to_the_end
):
    elsewhere = make_site({"/page": "x"}, address="127.0.0.2")
    site = make_site({"/": "x", "/found": "x"})
    site.pages["/robots.txt"] = naming(f"{elsewhere.url}/index.xml", "http://10.0.0.1/map.xml")
    elsewhere.pages["/index.xml"] = index(f"{elsewhere.url}/map.xml", f"{site.url}/more.xml")
    elsewhere.pages["/map.xml"] = listing(f"{site.url}/found", f"{elsewhere.url}/page")
    site.pages["/more.xml"] = listing()

    crawl_to_the_end(f"{site.url}/", include=["/found"])

    assert sorted(site.paths) == ["/", "/found", "/more.xml"]
    assert sorted(elsewhere.paths) == ["/index.xml", "/map.xml"]


def test_a_page_that_is_named_as_a_sitemap_leads_nowhere_that_its_rules_exclude(
    make_site, crawl_to_the_end
):
    html = (200, {"Content-Type": "text/html"}, "<a href=/docs/never>x</a>")
    inside = (200, {"Content-Type": "text/html"}, "<a href=/docs/found>x</a>")
    site = make_site({"/docs/": "x", "/map": html, "/docs/map": inside, "/docs/found": "x"})
    site.pages["/robots.txt"] = naming("/map", "/docs/map")

    crawl_to_the_end(f"{site.url}/docs/", scope="path")

    assert sorted(site.paths) == ["/docs/", "/docs/found", "/docs/map", "/map"]


def test_the_blocklist_keeps_a_sitemap_out(make_site, crawl_to_the_end):
    site = make_site({"/docs/": "x", "/robots.txt": naming("/map.xml"), "/map.xml": listing()})
    add_entry("prefix", f"{site.url}/map.xml", "asked for")

    crawl_to_the_end(f"{site.url}/docs/")

    assert site.paths == ["/docs/"]


def test_sitemaps_of_hosts_outside_the_scope_are_not_asked_for(make_site, crawl_to_the_end):
    elsewhere = make_site({"/": "x", "/map.xml": listing()}, address="127.0.0.2")
    elsewhere.pages["/robots.txt"] = naming("/map.xml")
    site = make_site({"/": f'<a href="{elsewhere.url}/">x</a>'})

    crawl_to_the_end(f"{site.url}/", off_site_hops=1)

    assert elsewhere.paths == ["/"]

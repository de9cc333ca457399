"""A seed that redirects to another site takes one page, and the crawl's page offers the rest."""

from __future__ import annotations

from crawling.runs.start import start_run
from tests.crawling.pages import browser, soup


def moved(url):
    return 301, {"Location": url}, ""


def links(*urls):
    return "".join(f'<a href="{url}">x</a>' for url in urls)


def test_another_site_is_not_taken_because_a_seed_leads_there(make_site, crawl_to_the_end):
    elsewhere = make_site({"/start": links("/more"), "/more": "x"}, address="127.0.0.2")
    elsewhere.pages["/robots.txt"] = (200, {}, "Sitemap: /map.xml")
    site = make_site({"/": moved(f"{elsewhere.url}/start")})

    run = crawl_to_the_end(f"{site.url}/")

    assert elsewhere.paths == ["/start"]
    client = browser("operator")
    section = soup(client.get(f"/crawls/{run.crawl.pk}/")).select_one("[aria-labelledby=moved]")
    assert f"{elsewhere.url}/start" in section.text
    target = section.select_one("button")["value"]
    asked = client.post(f"/crawls/{run.crawl.pk}/seeds/", {"seeds": target})
    assert "Widen the scope" in asked.content.decode()
    client.post(f"/crawls/{run.crawl.pk}/seeds/", {"seeds": target, "widen": "on"})
    assert soup(client.get(f"/crawls/{run.crawl.pk}/")).select("[aria-labelledby=moved]") == []


def test_a_site_that_was_asked_for_after_all_is_taken_by_the_next_run(
    make_site, crawl_to_the_end, work_off
):
    elsewhere = make_site({"/start": links("/more"), "/more": "x"}, address="127.0.0.2")
    site = make_site({"/": moved(f"{elsewhere.url}/start")})
    crawl = crawl_to_the_end(f"{site.url}/").crawl
    browser("operator").post(
        f"/crawls/{crawl.pk}/seeds/", {"seeds": f"{elsewhere.url}/start", "widen": "on"}
    )
    crawl.refresh_from_db()

    work_off(start_run(crawl))

    assert "/more" in elsewhere.paths


def test_a_directory_without_its_slash_is_the_directory(make_site, crawl_to_the_end):
    site = make_site({"/docs": moved("/docs/"), "/docs/found": "x", "/other": "x"})
    site.pages["/docs/"] = links("/docs/found", "/other", "/docsearch")

    run = crawl_to_the_end(f"{site.url}/docs", scope="path")

    assert sorted(site.paths) == ["/docs", "/docs/", "/docs/found"]
    page = soup(browser("operator").get(f"/crawls/{run.crawl.pk}/"))
    assert page.select("[aria-labelledby=moved]") == []

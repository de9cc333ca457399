"""Pages keep what was typed, show all that they have, and say what has become of a session."""

from __future__ import annotations

import re

import pytest
from django.contrib.sessions.models import Session
from django.db.models.functions import Now
from playwright.sync_api import Page, expect

from crawling.models import CrawlJob
from crawling.models.jobs import RunState
from crawling.runs.start import start_run
from tests.browser.house import furnish, make_crawl

#: wider than its box at 1440 px
LONG = "A crawl with a name as long as careful people give it, for all that it is about"


@pytest.fixture
def furnished(make_web, user_of) -> dict[str, CrawlJob]:
    web = make_web()
    web.enough.set()
    return furnish(web.url, by=user_of("operator"))


def test_back_restores_all_that_was_typed_into_a_new_crawl(pool, operator):
    operator.goto("/crawls/new/")
    typed = {"Start URLs": "http://127.0.0.1:8900/", "Pages": "12", "Depth": "3", "Tags": "a, b"}
    for label, text in typed.items():
        operator.get_by_label(label, exact=True).fill(text)
    operator.get_by_label("Start URLs").press("Tab")

    operator.on("dialog", lambda dialog: dialog.accept())
    operator.evaluate("location.assign('/crawls/')")
    expect(operator).to_have_url("/crawls/")
    operator.go_back()

    for label, text in typed.items():
        expect(operator.get_by_label(label, exact=True)).to_have_value(text)


def test_no_list_of_crawls_is_wider_than_the_window(furnished, operator):
    for number in range(3):
        run = start_run(make_crawl(f"{LONG} {number}", "http://127.0.0.1:8900/"))
        type(run).objects.filter(pk=run.pk).update(
            state=RunState.FINISHED, started_at=Now(), finished_at=Now()
        )

    operator.goto("/crawls/")

    expect(operator.get_by_role("link", name=f"{LONG} 0", exact=True)).to_be_visible()
    widths = operator.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert widths[0] <= widths[1]


def test_pages_found_by_the_palette_name_their_host_and_crawl(furnished, operator):
    operator.goto("/")
    answers = {
        "items": [
            {"title": "Page", "url": f"http://{host}/p", "crawl": 1, "crawl_name": name, "page": 1}
            for host, name in (("shop.example", "Our shop"), ("news.example", "News"))
        ]
    }
    operator.route("**/api/v1/pages?*", lambda route: route.fulfill(json=answers))
    operator.keyboard.press("Control+k")
    operator.keyboard.type("page")

    dialog = operator.get_by_role("dialog", name="Find anything")
    expect(dialog.get_by_role("link", name="Page Page · shop.example, Our shop")).to_be_visible()
    expect(dialog.get_by_role("link", name="Page Page · news.example, News")).to_be_visible()


def test_a_page_whose_session_has_ended_leads_to_a_log_in_that_says_so(furnished, operator, watch):
    operator.goto("/crawls/")
    Session.objects.all().delete()

    expect(operator).to_have_url(re.compile("/login/.*ended=1"))
    expect(operator.get_by_role("status").first).to_contain_text("Your session has ended")
    assert operator.locator("input[name=next]").input_value() == "/crawls/"


CHART = """
const figure = document.createElement("figure");
figure.className = "chart";
figure.dataset.minutes = "1";
figure.dataset.unit = "URLs in a minute";
const rows = [1, 50000, 1].map((n, i) => `<tr>
  <td><time datetime="2026-01-05T12:0${i}:00Z"></time></td>
  <td><data value="${n}">${n}</data></td></tr>`);
figure.innerHTML = `<table><thead><tr><th>Time</th><th>URLs</th></tr></thead>
  <tbody>${rows.join("")}</tbody></table>`;
document.querySelector("main").append(figure);
document.body.dispatchEvent(new CustomEvent("htmx:afterSwap"));
"""


def test_large_numbers_of_a_chart_stand_beside_its_label(browse):
    page: Page = browse("viewer", "/")
    page.evaluate(CHART)

    drawing = page.locator("figure.chart .u-over").last
    assert drawing.evaluate("one => one.offsetLeft") >= 24 + 8 * len("50,000")

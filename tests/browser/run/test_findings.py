"""The findings of a crawl: errors by cause, its log, its pages and its hosts; the filter stands in
the address.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Locator, Page, expect

from crawling.datasets.catch_up import catch_up
from crawling.models import CrawlJob, Host, HostQueue, RunStatusCount
from crawling.runs.start import start_run
from tests.browser.house import make_crawl
from tests.browser.test_accessible import TOO_WIDE
from tests.crawling.conftest import do_shifts
from tests.servers import Site

#: the hosts' page and the pages' page show 100
MANY_HOSTS, MANY_PAGES = 130, 130
NARROWEST = {"width": 320, "height": 640}
#: how far from a cell's edge its words begin
START = "cell => getComputedStyle(cell).paddingInlineStart"


@pytest.fixture
def site(make_web, make_site) -> Site:
    """A home with two pages, two that are missing, and one that fails for now."""
    links = "".join(
        f'<a href="{path}">{path}</a>' for path in ("/one", "/two", "/gone", "/lost", "/broken")
    )
    broken = (501, {"Content-Type": "text/plain"}, "for now")
    return make_site(
        {
            "/": f"<title>Home</title>{links}",
            "/one": "<title>One</title>",
            "/two": "<title>Two</title>",
            "/broken": broken,
        },
        address="127.0.0.3",
    )


@pytest.fixture
def crawl(site, user_of) -> CrawlJob:
    """A crawl of the site that has ended."""
    crawl = make_crawl("Library", f"{site.url}/", by=user_of("operator"))
    do_shifts(start_run(crawl, by=user_of("operator")))
    return crawl


@pytest.fixture
def page(crawl, operator) -> Page:
    operator.goto(f"/crawls/{crawl.pk}/")
    return operator


@pytest.fixture
def hand(crawl, browse) -> Page:
    return browse("operator", viewport={"width": 390, "height": 844})


@pytest.fixture
def linked(site, user_of) -> CrawlJob:
    """A crawl of four pages with long addresses that link to one that is gone; links are read."""
    far = [f"/reference/{name}/configuration/of/everything/" for name in "abcd"]
    gone = '<nav>See <a href="/print/guide/installing/gone">how it is installed</a>.</nav>'
    site.pages["/"] = "".join(f'<a href="{path}">{path}</a>' for path in far)
    site.pages.update(dict.fromkeys(far, gone))
    crawl = make_crawl("Handbook", f"{site.url}/", by=user_of("operator"))
    run = start_run(crawl, by=user_of("operator"))
    do_shifts(run)
    catch_up(run.pk)
    return crawl


def errors(page: Page) -> Locator:
    return page.get_by_role("region", name="Failed and excluded, by cause")


def lines(page: Page) -> Locator:
    return page.get_by_role("region", name="Log").get_by_role("listitem")


def shown(page: Page) -> Locator:
    return page.get_by_role("main").locator("tbody tr")


def press_filter(page: Page) -> None:
    """Press the button, and wait for the page that answers it."""
    with page.expect_navigation():
        page.get_by_role("button", name="Filter").click()


def test_errors_stand_by_cause_with_their_addresses_behind_them(page, site):
    expect(errors(page).locator(".causes > li")).to_have_count(2)
    gone = errors(page).get_by_text("2 × 404 Not Found")

    expect(errors(page).get_by_text(f"{site.url}/gone")).to_be_hidden()
    gone.click()

    expect(errors(page).get_by_text(f"{site.url}/gone")).to_be_visible()
    expect(errors(page).get_by_text(f"{site.url}/lost")).to_be_visible()


def test_one_cause_is_retried_and_the_other_is_left(page, site, crawl):
    site.pages["/gone"] = "<title>Found again</title>"
    asked = site.paths.count("/broken")
    page.get_by_role("button", name="Retry 404 Not Found").click()

    expect(page.locator(".message").first).to_contain_text("2 failed URLs are queued again.")
    do_shifts(crawl.runs.get())
    expect(errors(page).get_by_text("1 × 404 Not Found")).to_be_visible()
    expect(errors(page).get_by_text("1 × 501 Not Implemented")).to_be_visible()
    expect(page.get_by_role("region", name="Latest pages")).to_contain_text("Found again")
    assert site.paths.count("/broken") == asked


def test_all_that_failed_is_retried_by_one_button(page, site, crawl):
    site.pages.update(dict.fromkeys(("/gone", "/lost", "/broken"), "well again"))
    page.get_by_role("button", name="Retry 3 failed URLs").click()

    expect(page.locator(".message").first).to_contain_text("3 failed URLs are queued again.")
    do_shifts(crawl.runs.get())
    expect(errors(page)).to_contain_text("Nothing has failed or been excluded.")


def test_the_log_shows_the_level_that_is_asked_for(page):
    everything = lines(page).count()
    page.get_by_label("Lines to show").select_option("warnings and errors")
    press_filter(page)

    assert "level=warning" in page.url
    expect(page.get_by_label("Lines to show")).to_have_value("warning")
    expect(lines(page).filter(has_text="info")).to_have_count(0)
    assert 0 < lines(page).count() < everything
    for line in lines(page).all():
        expect(line.locator("strong")).to_have_text(re.compile("warning|error"))


def test_the_log_finds_a_text_in_messages_and_addresses(page, site):
    page.get_by_label("Text to look for").fill("/BROKEN")
    press_filter(page)

    expect(page.get_by_label("Text to look for")).to_have_value("/BROKEN")
    expect(lines(page)).not_to_have_count(0)
    for line in lines(page).all():
        expect(line).to_contain_text(f"{site.url}/broken")


def test_a_log_without_such_a_line_leads_back_to_all_lines(page):
    everything = lines(page).count()
    page.get_by_label("Text to look for").fill("nothing like it")
    page.get_by_label("Text to look for").press("Enter")

    expect(page.get_by_role("region", name="Log")).to_contain_text("No lines match.")
    page.get_by_role("link", name="Show all lines.").click()
    expect(lines(page)).to_have_count(everything)


def test_the_refresh_keeps_to_the_filter_of_the_log(page):
    page.get_by_label("Text to look for").fill("/broken")
    press_filter(page)
    expect(lines(page)).not_to_have_count(0)
    few = lines(page).count()

    with page.expect_response(lambda response: "hx-request" in response.request.headers) as answer:
        pass

    assert "text=%2Fbroken" in answer.value.url
    expect(lines(page)).to_have_count(few)


def test_pages_are_found_by_status_and_by_a_part_of_address_or_title(page, crawl, browse):
    page.get_by_role("link", name="all pages").click()
    expect(shown(page)).to_have_count(6)

    page.get_by_label("Status", exact=True).select_option("404")
    press_filter(page)
    expect(shown(page)).to_have_count(2)
    assert "status=404" in page.url

    page.get_by_label("Part of the address or title").fill("gon")
    press_filter(page)
    expect(shown(page)).to_have_count(1)
    expect(shown(page)).to_contain_text("/gone")

    another = browse("viewer", page.url)
    expect(shown(another)).to_contain_text("/gone")
    expect(another.get_by_label("Status", exact=True)).to_have_value("404")


def test_pages_without_a_find_lead_back_to_all(page, crawl):
    page.goto(f"/crawls/{crawl.pk}/pages/?q=nothing+like+it")

    expect(page.get_by_role("main")).to_contain_text("No pages match these filters.")
    page.get_by_role("link", name="Show all pages.").click()
    expect(shown(page)).to_have_count(6)


def test_more_pages_than_fit_are_turned_over(operator, make_site, make_web, user_of):
    numbers = range(MANY_PAGES - 1)
    home = "".join(f'<a href="/{number}">{number}</a>' for number in numbers)
    site = make_site(
        {"/": home, **{f"/{number}": "page" for number in numbers}}, address="127.0.0.4"
    )
    crawl = make_crawl("Many pages", f"{site.url}/", by=user_of("operator"))
    do_shifts(start_run(crawl))
    operator.goto(f"/crawls/{crawl.pk}/pages/")

    expect(shown(operator)).to_have_count(100)
    expect(operator.get_by_text(f"1–100 of {MANY_PAGES}")).to_be_visible()
    operator.get_by_role("link", name="Next").click()
    expect(shown(operator)).to_have_count(MANY_PAGES - 100)
    assert "after=" in operator.url
    operator.get_by_role("link", name="Previous").click()
    expect(shown(operator)).to_have_count(100)


def test_the_list_of_statuses_on_a_crawls_page_is_whole(operator, crawl):
    run = crawl.runs.get()
    others = (status for status in range(400, 416) if status not in (404, 410))
    RunStatusCount.objects.bulk_create(
        RunStatusCount(run=run, state="f", status=status, urls=1) for status in others
    )
    operator.goto(f"/crawls/{crawl.pk}/")

    box = operator.locator(".scroll[aria-labelledby=statuses]")
    expect(box.get_by_role("row")).not_to_have_count(0)
    assert box.get_by_role("row").count() > 10
    assert box.evaluate("one => one.scrollHeight - one.clientHeight") <= 0


@pytest.fixture
def many_hosts(crawl) -> CrawlJob:
    """The same crawl, with so many hosts besides as a wide one has."""
    run = crawl.runs.get()
    hosts = Host.objects.bulk_create(
        Host(name=f"host-{number:03}.example") for number in range(MANY_HOSTS - 1)
    )
    HostQueue.objects.bulk_create(
        HostQueue(run=run, host=host, queued=number, process_number=0)
        for number, host in enumerate(hosts)
    )
    return crawl


def test_hosts_stand_with_those_with_most_to_do_first_and_are_turned_over(many_hosts, page):
    page.get_by_role("link", name="all hosts").click()

    expect(shown(page)).to_have_count(100)
    expect(shown(page).first).to_contain_text(f"host-{MANY_HOSTS - 2}.example")
    page.get_by_role("link", name="next", exact=True).click()
    expect(shown(page)).to_have_count(MANY_HOSTS - 100)
    assert "after=" in page.url
    page.reload()
    expect(shown(page)).to_have_count(MANY_HOSTS - 100)
    page.get_by_role("link", name="first page", exact=True).click()
    expect(shown(page)).to_have_count(100)


def test_hosts_are_found_by_name_and_sorted_by_a_click_on_a_head(many_hosts, page, browse):
    page.goto(f"/crawls/{many_hosts.pk}/hosts/")
    page.get_by_label("Part of the host's name").fill("HOST-00")
    press_filter(page)
    expect(shown(page)).to_have_count(10)

    head = page.get_by_role("columnheader", name="Queued")
    head.get_by_role("link").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    expect(shown(page).first).to_contain_text("host-000.example")
    head.get_by_role("link").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    expect(shown(page).first).to_contain_text("host-009.example")

    another = browse("viewer", page.url)
    expect(shown(another).first).to_contain_text("host-009.example")
    expect(shown(another)).to_have_count(10)


def test_hosts_without_a_find_lead_back_to_all(page, crawl):
    page.goto(f"/crawls/{crawl.pk}/hosts/?q=nothing+like+it")

    expect(page.get_by_role("main")).to_contain_text("No hosts match.")
    page.get_by_role("link", name="Show all hosts.").click()
    expect(shown(page)).to_have_count(1)


def test_in_a_hand_nothing_scrolls_sideways(many_hosts, hand):
    for what in ("pages/", "hosts/", "hosts/?q=nothing", "", "?level=error"):
        hand.goto(f"/crawls/{many_hosts.pk}/{what}")

        assert hand.evaluate(TOO_WIDE) == 0, what


def test_runs_to_compare_fit_the_narrowest_window_whatever_their_times(crawl, browse, user_of):
    """Digits differ in width: a list of runs is widest with these."""
    do_shifts(start_run(crawl, by=user_of("operator")))
    crawl.runs.update(created_at=datetime(2020, 8, 8, 20, 8, tzinfo=UTC))

    page = browse("operator", f"/crawls/{crawl.pk}/compare/", viewport=NARROWEST)

    expect(page.get_by_role("button", name="Compare")).to_be_visible()
    assert page.evaluate(TOO_WIDE) <= 0


def test_a_row_of_long_addresses_takes_a_third_of_a_phone_at_most(linked, site, user_of, hand):
    hand.goto(f"/crawls/{linked.pk}/links/")
    row = shown(hand)

    expect(row).to_contain_text("how it is installed")
    expect(row.get_by_role("link", name="all 4")).to_be_visible()
    assert_fits(row)

    site.pages["/"] += "".join(f'<a href="/print/guide/{name}/installing">it</a>' for name in "abc")
    run = start_run(linked, by=user_of("operator"))
    do_shifts(run)
    catch_up(run.pk)
    hand.goto(f"/crawls/{linked.pk}/link-changes/")
    row = shown(hand)

    expect(row.get_by_text("added", exact=True)).to_have_count(3)
    assert_fits(row)


def assert_fits(row: Locator) -> None:
    assert row.bounding_box()["height"] <= 844 / 3
    boxes = [cell.bounding_box() for cell in (row.locator("th"), row.locator(".at"))]
    assert boxes[0]["x"] == boxes[1]["x"]
    assert boxes[1]["width"] > 300  # as wide as the screen
    assert {row.locator(cell).evaluate(START) for cell in ("th", ".at")} == {"0px"}

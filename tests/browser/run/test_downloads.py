"""Files are had by few clicks: an order makes them, and the page that follows loads each once it is
ready.
"""

from __future__ import annotations

from dataclasses import replace
from threading import Event

import pytest
from playwright.sync_api import Page, expect

from crawling.base.errors import NotFound
from crawling.datasets.catch_up import catch_up
from crawling.datasets.second_reading import read_run_again
from crawling.jobs.running import run_in_this_process
from crawling.models import AllowedNetwork, BackgroundJob, Run
from crawling.runs.shift_lifecycle import begin_shift
from crawling.runs.start import start_run
from crawling.uses.bulk_data.files import bulk_file
from crawling.uses.exports.jobs import WACZ
from tests.browser.house import make_crawl
from tests.browser.test_clicks import COUNT, clicks
from tests.crawling.conftest import do_shifts

HOME = "<html lang=en><title>Home</title><main>Words</main><table><tr><td>cell</table>"
RULES = {"cell": "td"}


@pytest.fixture
def run(pool, make_site) -> Run:
    AllowedNetwork.objects.create(network="127.0.0.0/8", port_from=1024, port_to=65535)
    crawl = make_crawl("Parts", f"{make_site({'/': HOME}).url}/", extract=RULES)
    run = do_shifts(start_run(crawl))
    catch_up(run.pk)
    read_run_again(run.pk)
    return run


@pytest.fixture(params=[True, False], ids=["scripts", "no-scripts"])
def page(request, run, browse) -> Page:
    page = browse("operator", java_script_enabled=request.param)
    page.add_init_script(COUNT)
    page.goto("/")
    return page


def work(kind: str) -> None:
    run_in_this_process(BackgroundJob.objects.get(kind=kind, ended_at=None))


@pytest.fixture
def held(monkeypatch):
    """Each file of data is sent but for its end until this is set."""
    may_end = Event()

    def pieces(of):
        yield from of
        assert may_end.wait(120)

    def send(*args, **named):
        file = bulk_file(*args, **named)
        return replace(file, pieces=pieces(file.pieces))

    monkeypatch.setattr("crawling.uses.bulk_data.pages.bulk_file", send)
    yield may_end
    may_end.set()


def test_files_load_one_by_one_and_one_that_is_refused_is_told_and_loads_later(
    page, run, held, settings
):
    assert settings.WEB_THREADS // 4 == 2  # so many are sent at a time
    loaded = []
    page.on("download", lambda file: loaded.append(file.suggested_filename))
    page.goto(f"/crawls/{run.crawl_id}/download/")
    for kind in ("pages", "text", "links"):
        page.locator(f"#data-{kind}").check()
    page.get_by_role("button", name="Download", exact=True).click()
    expect(page.locator("[data-said=refused]:visible")).to_contain_text("tried again in a moment")
    stem = f"crawl-{run.crawl_id}-run-1"
    assert loaded == [f"{stem}-pages.csv", f"{stem}-text.csv"]
    assert "links.csv" in page.url

    with page.expect_download() as last:
        held.set()

    assert last.value.suggested_filename == f"{stem}-links.csv"
    assert b"source" in last.value.path().read_bytes()
    expect(page.locator("[data-said=refused]:visible")).to_have_count(0)
    assert len(loaded) == 3


def test_a_file_that_cannot_be_sent_says_so_and_keeps_none_from_loading(
    browse, run, monkeypatch, watch
):
    page = browse("operator", f"/crawls/{run.crawl_id}/download/")

    def send(run, table, ending, **named):
        if table.name == "pages":
            raise NotFound("It is gone.")
        return bulk_file(run, table, ending, **named)

    monkeypatch.setattr("crawling.uses.bulk_data.pages.bulk_file", send)
    for kind in ("pages", "text"):
        page.locator(f"#data-{kind}").check()
    with page.expect_download() as text:
        page.get_by_role("button", name="Download", exact=True).click()

    assert text.value.suggested_filename.endswith("text.csv")
    expect(page.locator("li", has_text="pages.csv")).to_contain_text("It could not be sent")
    watch.complaints.clear()  # the frame may not show the page that the link leads to


@pytest.mark.parametrize("others", [False, True], ids=["none-fetches", "another-fetches"])
def test_an_archive_is_had_by_two_clicks_from_the_overview(page, run, others):
    if others:
        other = start_run(make_crawl("At work", "http://127.0.0.1:8990/"))
        begin_shift(other.processes.get(), epoch=1, worker="w")
        page.reload()
        expect(page.get_by_role("heading", name="Fetching")).to_be_visible()
    page.get_by_role("link", name="Download: Parts").click()
    page.get_by_role("button", name="Archive (WACZ)").click()
    expect(page.get_by_text("The file is being created")).to_be_visible()
    with page.expect_download() as loaded:
        work(WACZ.name)

    assert loaded.value.suggested_filename == f"crawl-{run.crawl_id}-run-1.wacz"
    expect(page.get_by_role("status").first).to_contain_text("with 1 page")
    # one that is there is loaded at once, and not made again
    page.goto(f"/crawls/{run.crawl_id}/")
    with page.expect_download():
        page.get_by_role("button", name="Download WACZ").click()
    assert BackgroundJob.objects.filter(kind=WACZ.name).count() == 1


def test_an_archive_is_had_from_the_page_of_its_crawl(browse, run):
    page = browse("operator")
    page.add_init_script(COUNT)
    page.goto("/")
    page.get_by_role("link", name="Parts", exact=True).click()
    page.get_by_role("button", name="Download WACZ").click()
    expect(page.get_by_text("The file is being created")).to_be_visible()
    with page.expect_download():
        work(WACZ.name)

    assert clicks(page) == 2
    page.wait_for_url(lambda address: "load=1" not in address)
    page.reload()
    expect(page.get_by_role("status")).to_have_count(0)  # it loads once


def test_text_and_tables_are_had_by_three_clicks_and_each_loads_when_it_is_ready(page, run):
    page.get_by_role("link", name="Parts", exact=True).click()
    page.locator("#downloads > summary").click()
    with page.expect_download() as text:
        page.get_by_role("button", name="Text and tables").click()
    expect(page.get_by_text("tables.csv: is being made")).to_be_visible()
    with page.expect_download() as tables:
        work("bulk-tables")

    stem = f"crawl-{run.crawl_id}-run-1"
    assert text.value.suggested_filename == f"{stem}-text.csv"
    assert tables.value.suggested_filename == f"{stem}-tables.csv"
    assert b"cell" in tables.value.path().read_bytes()
    assert not BackgroundJob.objects.filter(kind="bulk-text").exists()  # it needs none


def test_all_that_is_ticked_is_ordered_at_once(browse, run):
    page = browse("operator", f"/crawls/{run.crawl_id}/download/")
    page.get_by_role("checkbox", name="Text").check()
    page.get_by_role("checkbox", name="Extracted fields").check()
    page.get_by_label("All that is ticked as").select_option("parquet")
    page.get_by_role("button", name="Download", exact=True).click()
    expect(page.get_by_text("fields.parquet: is being made")).to_be_visible()
    page.get_by_role("checkbox", name="Links").check()
    with page.expect_download():
        work("bulk-text")
    with page.expect_download():
        work("bulk-fields")

    expect(page.locator(".message").first).to_contain_text("one after the other")
    # what changes leaves ticks alone
    expect(page.get_by_role("checkbox", name="Links")).to_be_checked()


def test_rules_that_are_tried_are_applied_to_all_stored_pages_and_their_file_loads(page, run):
    page.goto(f"/crawls/{run.crawl_id}/extracted/?rules=word+%3D+main")
    page.get_by_role("button", name="Apply to all stored pages and download CSV").click()
    expect(page.get_by_text("the stored pages are being read by the rules")).to_be_visible()
    with page.expect_download() as fields:
        work("extraction")

    assert fields.value.suggested_filename == f"crawl-{run.crawl_id}-run-1-fields.csv"
    assert b"Words" in fields.value.path().read_bytes()
    assert b"cell" not in fields.value.path().read_bytes()


def test_the_menu_has_the_extracted_fields_of_a_crawl_that_has_rules(browse, run):
    page = browse("operator", f"/crawls/{run.crawl_id}/")
    page.locator("#downloads > summary").click()
    with page.expect_download() as fields:
        page.get_by_role("button", name="Extracted fields").click()

    assert b"cell" in fields.value.path().read_bytes()
    run.crawl.extract = {}
    run.crawl.save()
    page.goto(f"/crawls/{run.crawl_id}/")
    expect(page.get_by_role("button", name="Extracted fields")).to_have_count(0)

"""Extraction rules are tried on stored pages, and a run is read again for them without fetching."""

from __future__ import annotations

import os

import pytest
from django.core.management import call_command

from crawling.frontier.record.page_rows import replace_extracted
from crawling.jobs.job_rows import open_jobs
from crawling.jobs.running import run_job
from crawling.jobs.turns import IdleTurn
from crawling.models import (
    ArchiveFile,
    BackgroundJob,
    ExtractedRow,
    Inquiry,
    Page,
    Run,
    WithdrawnPage,
)
from crawling.orders.order import read_order
from crawling.runs.housekeeping.run_removal import remove_rows, remove_run
from crawling.scheduler.messages import resend_lost_background_jobs
from crawling.uses.extraction import reading
from crawling.uses.extraction.jobs import EXTRACTION, request_extraction
from crawling.uses.withdrawals.withdrawing import undo_withdrawal, withdraw_pages
from tests.crawling.pages import browser, soup
from tests.stack import background_queue

PAGE = "<title>{0}</title><b>bold {0}</b><i class=x>italic {0}</i>"
RULES = {"italic": "i.x"}


@pytest.fixture(scope="module")
def site(shared):
    links = "".join(f"<a href=/{number}>l</a>" for number in range(4))
    pages = {"/": PAGE.format("home") + links} | {f"/{n}": PAGE.format(n) for n in "0123"}
    return shared.serve(pages)


@pytest.fixture(scope="module")
def crawled(site, crawl_once):
    return crawl_once(f"{site.url}/", extract={"bold": "b"})


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


@pytest.fixture
def background():
    with background_queue() as queue:
        yield queue


def rows(run):
    return set(ExtractedRow.objects.filter(run=run).values_list("name", "value"))


OLD = {("bold", f"bold {name}") for name in ("home", *"0123")}
NEW = {("italic", f"italic {name}") for name in ("home", *"0123")}


def test_rules_are_tried_on_stored_pages_and_change_nothing(site, run, background, capsys):
    viewer, asked = browser("viewer"), len(site.log)
    address = f"/crawls/{run.crawl_id}/extracted/?rules=italic+%3D+i.x%0Anone+%3D+u"
    assert "being read in the background" in viewer.get(address).content.decode()
    background.fetch_job(background.job_ids[0]).perform()

    page = soup(viewer.get(address)).select_one("#preview")
    assert "italic 5, none 0." in " ".join(page.select_one(".sub").text.split())
    assert page.select_one("tbody tr td:last-child").text == "italic 3"
    query = {"rules": "italic = i.x\nnone = u"}
    found = viewer.get(f"/api/v1/crawls/{run.crawl_id}/extractions/previews", query)
    assert found.json()["counts"] == {"italic": 5, "none": 0}
    call_command("crawl", "extract", str(run.crawl_id), "italic=i.x", "--preview")
    assert f"{site.url}/3  italic 1  italic 3" in capsys.readouterr().out
    assert (rows(run), len(site.log)) == (OLD, asked)


NO_RULES = ("", " \n ", "x", "price = [", "= b", "a = ::attr(", "x" * 200 + " = b")


def test_rules_that_are_none_are_refused_with_a_remedy(run, background):
    viewer = browser("viewer")
    address = f"/api/v1/crawls/{run.crawl_id}/extractions/previews"

    answers = {rules: viewer.get(address, {"rules": rules}).status_code for rules in NO_RULES}

    assert answers == dict.fromkeys(NO_RULES, 422)
    page = soup(viewer.get(f"/crawls/{run.crawl_id}/extracted/", {"rules": "price = ["}))
    assert "price = [" in page.select_one("textarea").text
    assert "is no CSS selector" in page.select_one("[role=alert]").text
    assert not background.job_ids


def test_a_rule_without_its_mark_is_named_with_the_remedy(run, background):
    said = "“price span.price” has no “=”"
    remedy = "like price = span.price"
    rules = {"rules": "price span.price"}

    page = soup(browser("viewer").get(f"/crawls/{run.crawl_id}/extracted/", rules))
    told = page.select_one("[role=alert]").text
    assert said in told
    assert remedy in told
    _, errors = read_order({"name": "a", "seeds": ["http://a.test/"], "extract": {"x y": ""}})
    assert list(errors) == ["extract"]


def test_a_run_is_read_again_for_rules_without_fetching(site, run, background):
    asked, operator = len(site.log), browser("operator")
    assert rows(run) == OLD

    page = operator.post(
        f"/crawls/{run.crawl_id}/extracted/", {"rules": "italic = i.x"}, follow=True
    )
    assert "A background job reads" in page.content.decode()
    background.fetch_job(background.job_ids[0]).perform()

    assert (rows(run), len(site.log)) == (NEW, asked)
    (done,) = operator.get(f"/api/v1/crawls/{run.crawl_id}/extractions").json()["items"]
    assert (done["state"], done["pages"], done["rows"], done["rules"]) == ("extracted", 5, 5, RULES)
    told = soup(operator.get(f"/crawls/{run.crawl_id}/extracted/")).select_one("main")
    assert "5 rows of 5 pages." in " ".join(told.text.split())


def test_a_command_does_the_same(run, capsys):
    call_command("crawl", "extract", str(run.crawl_id), "italic=i.x")

    assert rows(run) == NEW
    assert capsys.readouterr().out == "5 rows of 5 pages\n"


def test_what_was_broken_off_continues_behind_the_pages_it_has(run, background, monkeypatch):
    monkeypatch.setattr(reading, "SLICE", 2)
    monkeypatch.setattr(IdleTurn, "goes_on", lambda turn: False)
    extraction = request_extraction(run, RULES, by=None)
    assert request_extraction(run, RULES, by=None) == extraction
    assert run_job(extraction.pk) == "others wait"
    assert len(rows(run) & NEW) == 2
    assert len(rows(run) & OLD) == 3
    monkeypatch.undo()
    background.empty()

    resend_lost_background_jobs()
    background.fetch_job(f"job-{extraction.pk}").perform()

    extraction.refresh_from_db()
    assert rows(run) == NEW
    assert (extraction.progress["pages"], extraction.progress["rows"]) == (5, 5)
    assert (extraction.state, open_jobs().exists()) == ("done", False)


def test_pages_at_which_it_breaks_off_again_and_again_end_it(run, background, monkeypatch):
    def die(*_):
        raise SystemExit

    monkeypatch.setattr(reading, "extract_from_page", die)
    extraction = request_extraction(run, RULES, by=None)
    for _ in range(EXTRACTION.attempts):
        with pytest.raises(SystemExit):
            run_job(extraction.pk)

    assert "broken off" in run_job(extraction.pk)
    extraction.refresh_from_db()
    assert extraction.state == "failed"
    assert rows(run) == OLD


def test_pages_that_cannot_be_read_keep_their_rows(run, background):
    for file in ArchiveFile.objects.all():
        os.truncate(file.path, 0)

    extraction = request_extraction(run, RULES, by=None)
    run_job(extraction.pk)

    extraction.refresh_from_db()
    assert (extraction.progress["pages"], extraction.progress["unreadable"]) == (0, 5)
    assert rows(run) == OLD


def test_a_withdrawn_page_gets_no_rows_and_no_preview(site, run, background):
    viewer = browser("viewer")
    address = f"/api/v1/crawls/{run.crawl_id}/extractions/previews"
    viewer.get(address, {"rules": "i = i"})
    background.fetch_job(background.job_ids[0]).perform()
    one = withdraw_pages(run.crawl, run, kind="page", text=f"{site.url}/2", reason="asked", by=None)
    assert not Inquiry.objects.exists()
    gone = WithdrawnPage.objects.get().url_id
    assert replace_extracted(run.pk, {gone: [("read", "meanwhile")]}) == 0

    run_job(request_extraction(run, RULES, by=None).pk)

    assert rows(run) == NEW - {("italic", "italic 2")}
    undo_withdrawal(run.crawl, one.pk, by=None)
    assert ("bold", "bold 2") in rows(run)


def test_a_deleted_run_takes_its_extractions_along(run, background):
    extraction = request_extraction(run, RULES, by=None)
    remove_run(run, by=None, for_good=True)
    assert "over" in run_job(extraction.pk)

    remove_rows(seconds=60)

    assert not BackgroundJob.objects.exists()
    assert not Page.objects.exists()


def test_other_rules_wait_until_a_run_is_read(run, background):
    request_extraction(run, RULES, by=None)
    operator, path = browser("operator"), f"/api/v1/crawls/{run.crawl_id}/extractions"
    kind = "application/json"

    assert operator.post(path, {"rules": RULES}, kind).status_code == 202
    other = operator.post(path, {"rules": {"bold": "b"}}, kind)
    assert (other.status_code, "by other rules" in other.content.decode()) == (409, True)
    assert operator.post(path, {"rules": {"bold": "["}}, kind).status_code == 422
    assert BackgroundJob.objects.count() == 1

"""The Nu checker reads a run's stored pages when an operator asks for it, once and with a grant."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection

from allocation.models import Process
from crawling.dashboard.links.link_check import list_problems
from crawling.dashboard.links.problem_kinds import ProblemKind
from crawling.idle import nu_readings as job
from crawling.idle.turns import IdleTurn
from crawling.links import nu_reading
from crawling.links.catch_up import catch_up
from crawling.links.nu_checker import MEMORY_MIB, why_unavailable
from crawling.links.parquet import FINDINGS, rows_in
from crawling.links.parts import new_part, remove_abandoned_parts
from crawling.links.progress import parts_without_nu
from crawling.models import LinksPart, Run
from crawling.scheduler.messages import resend_background
from crawling.withdrawals.withdrawing import withdraw
from tests.crawling.pages import browser, soup
from tests.stack import background_queue

MISSING = why_unavailable()
needs_checker = pytest.mark.skipif(bool(MISSING), reason=MISSING or "it is there")
HOME = """<!doctype html><html lang=en><title>Home</title><p>ä<p>ö</div></div>
<a href=/sound>s</a><a href=/bare>b</a></html>"""
SOUND = "<!doctype html><html lang=en><meta charset=utf-8><title>Sound</title><p>fine</p></html>"
PAGES = {
    "/": (200, {"Content-Type": "text/html; charset=utf-8"}, HOME),
    "/sound": SOUND,
    "/bare": "<p>x",
}


@pytest.fixture(scope="module")
def site(shared):
    return shared.serve(PAGES)


@pytest.fixture(scope="module")
def crawled(site, shared, crawl_once):
    run = crawl_once(f"{site.url}/")
    shared.do(catch_up, run.pk)
    return run


@pytest.fixture(autouse=True)
def held(monkeypatch):
    """What the job holds while the checker reads; the test's transaction may wait for Java, which
    the bank's limit of an idle one would end.
    """
    check, seen = nu_reading.check_documents, []

    def checked(documents):
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        jobs = Process.objects.filter(run_ref__startswith="moment/nu-check-", state="active")
        seen.extend(sum(job.allocated) for job in jobs)
        return check(documents)

    monkeypatch.setattr(nu_reading, "check_documents", checked)
    return seen


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


@pytest.fixture
def background():
    with background_queue() as queue:
        yield queue


def messages(site, run):
    found, _ = list_problems(run, ProblemKind.NU, most=50)
    return {one.url.removeprefix(site.url): one.detail for one in found}


@needs_checker
def test_an_operator_asks_for_it_by_page_and_sees_each_message_once_with_its_line(
    site, run, background
):
    page = f"/crawls/{run.crawl_id}/links/?kind=nu"
    resend_background()
    assert f"nu-check-{run.pk}" not in background.job_ids  # nothing reads by itself
    asked = browser("operator").post(page, follow=True)
    assert "A background job reads the pages" in asked.content.decode()

    asked_for = background.fetch_job(f"nu-check-{run.pk}")
    background.empty()  # else it gives way to the others
    asked_for.perform()

    told = messages(site, run)
    assert sorted(told) == ["/", "/bare"]
    assert "error: Stray end tag “div”. in line 1 (2 times)" in told["/"]
    assert "encoding" not in told["/"]  # the server's head names it
    assert told["/bare"].startswith("error: ")
    shown = soup(browser("viewer").get(page))
    assert "Stray end tag" in shown.select_one("main table").text
    assert not shown.select("main form.message")
    background.empty()
    resend_background()
    assert f"nu-check-{run.pk}" not in background.job_ids


@needs_checker
def test_it_gives_way_after_some_pages_and_continues_there(
    site, run, background, held, monkeypatch
):
    nu_reading.ask_nu_reading(run)
    with monkeypatch.context() as patch:
        patch.setattr(nu_reading, "TOGETHER", 1)
        patch.setattr(IdleTurn, "goes_on", lambda self: setattr(self, "is_over", True))
        assert job.check_when_idle(run.pk) == "others wait"
    (part,) = parts_without_nu(run)
    assert [row[2] for row in rows_in(part.nu_name, FINDINGS)].count("nu-read") == 1
    assert held == [MEMORY_MIB]
    background.empty()
    resend_background()
    assert f"nu-check-{run.pk}" in background.job_ids  # what is left is not forgotten

    background.empty()
    assert job.check_when_idle(run.pk) == "all pages are read"
    assert [row[2] for row in rows_in(part.nu_name, FINDINGS)].count("nu-read") == 3
    assert not parts_without_nu(run)


@needs_checker
def test_a_withdrawn_page_and_a_deleted_run_leave_no_messages(site, run, background, capsys):
    call_command("links", "nu-check", str(run.crawl_id))
    assert capsys.readouterr().out == "3 pages read\n"
    withdraw(run.crawl, run, kind="page", text=f"{site.url}/bare", reason="test", by=None)
    assert sorted(messages(site, run)) == ["/"]

    folder = settings.ARCHIVE_DIR / f"links{run.pk}"
    assert len(list(folder.glob("*.nu.parquet"))) == 1
    new_part(run.pk, None).save()  # the folder stays for it
    LinksPart.objects.filter(links__gt=0).update(run=None)
    remove_abandoned_parts()
    assert not list(folder.glob("*"))


@needs_checker
def test_a_document_that_the_archive_has_no_more_is_told(site, run, monkeypatch):
    monkeypatch.setattr(nu_reading, "_document", lambda run, page: None)

    nu_reading.read_by_nu(run.pk)

    assert set(messages(site, run).values()) == {f"error: {nu_reading.UNCHECKED}"}


def test_without_the_checker_page_json_and_command_say_how_to_get_it(run, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    why = why_unavailable()
    assert "Java" in why
    operator, page = browser("operator"), f"/crawls/{run.crawl_id}/links/?kind=nu"
    assert why in soup(operator.get(page)).select_one("main p.message").text
    assert why in soup(operator.post(page, follow=True)).select_one(".message.flash").text
    answer = operator.post(f"/api/v1/crawls/{run.crawl_id}/links/check?nu=true")
    assert (answer.status_code, answer.json()["detail"]) == (409, why)
    with pytest.raises(CommandError, match="Java"):
        call_command("links", "nu-check", str(run.crawl_id))
    assert not LinksPart.objects.exclude(nu_asked_at=None)

"""Deleting single runs: all of one and nothing of another, never what others need, and to the end
whatever comes between.
"""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from crawling.archive.files import remove_abandoned
from crawling.base.errors import WrongState
from crawling.models import ArchiveFile, LogLine, Page, Run, RunCount, RunProcess, Shift, Url
from crawling.models.archive import archive_folder
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.housekeeping import run_removal
from crawling.runs.housekeeping.retention import RunRetention, set_retention
from crawling.runs.housekeeping.retention_view import fates_of_crawl
from crawling.runs.start import start_run
from tests.crawling.archive.judging import judge
from tests.crawling.conftest import do_shifts
from tests.crawling.frontier.test_unchanged import HOME, versioned
from tests.crawling.pages import browser, soup

ROWS = (Page, Url, RunCount, LogLine, Shift, RunProcess, ArchiveFile)


def rows():
    return {model.__name__: model.objects.count() for model in ROWS}


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    site = shared.serve({"/": '<a href="/a">a</a>', "/a": "x"})
    first = crawl_once(f"{site.url}/", name="a crawl")
    before = shared.do(rows)
    return first, shared.do(lambda: do_shifts(start_run(first.crawl))), before


@pytest.fixture
def two(crawled, db):
    """Two runs of a crawl; none of their pages is carried over."""
    first, second, before = crawled
    return Run.objects.get(pk=first.pk), Run.objects.get(pk=second.pk), before


def test_a_run_goes_with_every_row_and_file_and_the_other_stays_whole(two, django_user_model):
    first, second, before = two
    chief = django_user_model.objects.create_user("chief")

    run_removal.remove_run(second, by=chief, for_good=True)

    assert rows() == before
    assert judge(first)
    assert not archive_folder(f"run{second.pk}").exists()
    assert Run.all_objects.get() == first
    assert Run.objects.get(is_latest=True) == first
    entry = LogEntry.objects.latest("pk")
    assert entry.user == chief
    assert '"deleted a run"' in entry.change_message


def test_a_number_is_not_given_again(two):
    first, second, _ = two
    run_removal.remove_run(second, by=None, for_good=True)

    assert start_run(first.crawl).number == 3


def test_from_the_first_moment_nobody_sees_it_and_a_crash_loses_nothing(two, monkeypatch):
    first, second, before = two
    monkeypatch.setattr(run_removal, "SLICE", 1)

    run_removal.request_removal(second, by=None, for_good=True)
    run_removal.remove_rows(seconds=0)

    assert rows() != before
    operator = browser("operator")
    assert operator.get(f"/api/v1/crawls/{first.crawl_id}/runs").json()["items"][0]["number"] == 1
    assert (
        operator.get(reverse("crawling:crawl", args=[first.crawl_id]) + "?run=2").status_code == 404
    )
    while not run_removal.remove_rows(seconds=0):
        pass
    assert rows() == before


def test_who_finds_another_at_it_leaves_the_run_to_him(make_site, crawl_to_the_end):
    before = rows()
    second = crawl_to_the_end(f"{make_site({'/': 'x'}).url}/")
    run_removal.request_removal(second, by=None, for_good=True)
    asked = rows()

    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute("SELECT FROM crawling_run WHERE id = %s FOR UPDATE", [second.pk])
        assert run_removal.remove_rows()  # nothing is left for this one
        assert rows() == asked

    assert run_removal.remove_rows(seconds=60)
    assert rows() == before


def test_files_that_could_not_be_removed_are_tried_again(two, monkeypatch):
    _, second, before = two
    files = list(ArchiveFile.objects.filter(run=second))
    with monkeypatch.context() as patch:
        patch.setattr(
            "pathlib.Path.unlink", lambda *_, **__: (_ for _ in ()).throw(PermissionError("locked"))
        )
        run_removal.remove_run(second, by=None, for_good=True)
    assert files[0].path.exists()

    assert remove_abandoned() == 1

    assert not files[0].path.exists()
    assert rows() == before


def test_a_run_in_whose_archive_others_have_pages_stays_and_says_which(
    make_site, crawl_to_the_end, work_off
):
    site = make_site({"/": versioned(HOME, '"1"'), "/a": versioned("old", '"a"'), "/b": "no tag"})
    first = crawl_to_the_end(f"{site.url}/")
    second = work_off(start_run(first.crawl))
    set_retention(first.crawl, {"keep_runs": 1}, by=None)

    with pytest.raises(WrongState, match="run 1 holds the payload of 2 pages of run 2"):
        run_removal.remove_run(first, by=None, for_good=True)
    retention = RunRetention()
    for is_read in (True, False):  # once: nothing has changed since
        with CaptureQueriesContext(connection) as asked:
            retention.keep_to_rules()
        assert any("p.payload_from" in query["sql"] for query in asked) is is_read
    page = soup(browser("operator").get(reverse("crawling:runs", args=[first.crawl_id])))

    assert Run.objects.count() == 2
    assert "its archive has the payloads of 2 pages of run 2" in page.text
    third = work_off(start_run(first.crawl))
    run_removal.remove_run(second, by=None, for_good=True)
    Page.objects.filter(run=third).update(payload_from=None)
    retention.keep_to_rules()
    assert Run.objects.get() == third


def test_nothing_goes_while_the_crawl_has_a_run_at_work(two):
    first, second, _ = two
    live = start_run(first.crawl)
    set_retention(first.crawl, {"keep_runs": 1}, by=None)

    for run, said in (
        (live, "Run 3 is queued; stop it"),
        (second, "Run 3 is queued and may come to need"),
    ):
        with pytest.raises(WrongState, match=said):
            run_removal.remove_run(run, by=None, for_good=True)
    RunRetention().keep_to_rules()

    assert Run.objects.count() == 3


def test_the_scheduler_deletes_by_the_rules_and_notes_why(two):
    first, second, _ = two
    set_retention(first.crawl, {"keep_runs": 1}, by=None)

    RunRetention().keep_to_rules()
    run_removal.remove_rows(seconds=60)

    assert Run.all_objects.get() == second
    entry = LogEntry.objects.latest("pk")
    assert entry.user.username == "scheduler"
    assert "only the last run is kept" in entry.change_message


@pytest.mark.parametrize(
    ("rules", "stays"),
    [
        ({"keep_runs": 2}, True),
        ({"keep_days": 3}, True),
        ({"max_bytes": 10**12}, True),
        ({"keep_runs": 1}, False),
        ({"keep_days": 1}, False),
        ({"max_bytes": 1}, False),
        ({"keep_runs": 2, "keep_days": 3, "max_bytes": 1}, False),
    ],
)
def test_the_scheduler_looks_at_those_crawls_alone_of_which_a_run_goes(
    two, rules, stays, django_assert_max_num_queries
):
    first, second, _ = two
    Run.objects.update(finished_at=timezone.now() - timedelta(days=2))
    set_retention(first.crawl, rules, by=None)

    with django_assert_max_num_queries(1 if stays else 100):
        RunRetention().keep_to_rules()

    assert set(Run.objects.all()) == {second, *([first] if stays else [])}


def test_who_needs_whom_is_asked_of_the_pages_only_where_a_run_goes_now(
    two, django_assert_num_queries
):
    first, _, _ = two
    set_retention(first.crawl, {"keep_days": 3}, by=None)

    with django_assert_num_queries(2):
        assert [bool(fate.goes_at) for fate in fates_of_crawl(first.crawl, timezone.now())] == [
            False,
            True,
        ]


def test_the_page_tells_what_would_go_before_it_is_saved_and_keeps_what_was_typed(
    two, django_assert_max_num_queries
):
    first, _, _ = two
    operator, address = browser("operator"), reverse("crawling:runs", args=[first.crawl_id])

    with django_assert_max_num_queries(20):
        operator.get(address)
    would = soup(operator.post(address, {"keep_runs": "1", "preview": "1"}))
    wrong = soup(operator.post(address, {"keep_runs": "none"}))
    first.crawl.refresh_from_db()

    assert "Goes: only the last run is kept" in would.text
    assert wrong.find("input", {"name": "keep_runs"})["value"] == "none"
    assert first.crawl.retention == {}
    assert operator.post(address, {"keep_days": "30"}).status_code == 302
    assert browser("viewer").post(address, {"keep_days": "30"}).status_code == 403


def test_many_runs_are_shown_fifty_at_a_time(order):
    crawl = create_crawl(order("http://127.0.0.1:8900/", name="of many runs"))
    Run.objects.bulk_create(
        Run(crawl=crawl, number=n, is_latest=n == 51, state="finished") for n in range(1, 52)
    )
    operator, address = browser("operator"), reverse("crawling:runs", args=[crawl.pk])

    first = soup(operator.get(address))
    rest = soup(operator.get(address + first.find("a", rel="next")["href"]))

    assert "51 runs" in first.text
    assert [len(page.select("tbody tr")) for page in (first, rest)] == [50, 1]


def test_the_confirming_page_says_what_goes_before_it_deletes(two):
    first, second, _ = two
    operator, address = (
        browser("operator"),
        reverse("crawling:run-delete", args=[first.crawl_id, 2]),
    )

    page = soup(operator.get(address)).find("main").text
    assert Run.objects.filter(pk=second.pk).exists()
    answer = operator.post(address, follow=True)

    assert "2 URLs with their results" in " ".join(page.split())
    assert "1 archive file (" in page
    assert "Run 2 of a crawl is deleted." in answer.content.decode()
    assert not Run.objects.filter(pk=second.pk).exists()


def test_programs_and_the_command_line_do_the_same(two, capsys):
    first, _, _ = two
    operator, root = browser("operator"), f"/api/v1/crawls/{first.crawl_id}"

    put = operator.put(
        f"{root}/retention", {"keep_runs": 5}, content_type="application/json"
    ).json()
    wrong = operator.put(f"{root}/retention", {"keep_runs": 0}, content_type="application/json")
    gone = operator.delete(f"{root}/runs/1")
    call_command("runs", "keep", "a crawl", "--days", "7")
    with pytest.raises(CommandError, match=r"^--last .*1"):
        call_command("runs", "keep", "a crawl", "--last", "-1")

    assert (put["keep_runs"], [run["sentence"] for run in put["runs"]]) == (
        5,
        ["Kept (latest).", "Stays."],
    )
    assert (wrong.status_code, list(wrong.json()["errors"])) == (422, ["keep_runs"])
    assert (gone.status_code, operator.delete(f"{root}/runs/1").status_code) == (204, 404)
    assert "run 2  finished  2 pages" in capsys.readouterr().out


def test_a_queue_and_a_shift_go_without_reading_every_url(db):
    """With a constraint on these columns, which have no index, each row deleted would read all URLs
    of all runs.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT conname FROM pg_constraint WHERE conrelid = 'crawling_url'::regclass "
            "AND contype = 'f'"
        )
        assert [name for (name,) in cursor.fetchall() if "run_id" not in name] == []

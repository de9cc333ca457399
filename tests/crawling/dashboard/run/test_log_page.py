"""The log of a run on a page of its own, as JSON, as files and on the terminal: nothing is missed,
and nothing costs more than a bit.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from crawling.dashboard.base.time_range import TimeRange
from crawling.dashboard.run import log
from crawling.dashboard.run.log import LogFilter, log_after, whole_log
from crawling.installation.run_log import write
from crawling.models import Level, LogLine, Run
from tests.crawling.frontiers import Frontier
from tests.crawling.pages import browser, soup

pytestmark = pytest.mark.django_db
LONG_AGO = timedelta(minutes=5)
MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def run():
    """A run whose log has the lines `line 1` to `line 9`, which have settled; every third is a
    warning.
    """
    run = Frontier().run
    for number in range(1, 10):
        write(
            run.pk,
            f"line {number}",
            level=Level.WARNING if number % 3 == 0 else Level.INFO,
            url=f"http://a.test/{number}",
        )
    LogLine.objects.update(at=timezone.now() - LONG_AGO)
    return run


@pytest.fixture
def viewer(run):
    return browser("viewer")


@pytest.fixture
def address(run):
    return reverse("crawling:log", args=[run.crawl_id])


def shown(answer):
    """The numbers of the lines that a page shows, from the top."""
    return [
        int(row.get_text().partition("line ")[2].split()[0])
        for row in soup(answer).select("#lines li")
    ]


def pk(number):
    return LogLine.objects.get(message=f"line {number}").pk


def test_words_of_strangers_stay_words(run, viewer, address):
    write(run.pk, "Broken: <b>line 10</b>", level=Level.ERROR, url="http://a.test/<i>'\"&amp;")

    last = soup(viewer.get(address)).select("#lines li")[-1]
    assert last.find(["b", "i"]) is None
    assert "error Broken: <b>line 10</b>" in " ".join(last.get_text().split())
    assert last.select_one(".url").text == "http://a.test/<i>'\"&amp;"


@pytest.mark.parametrize("route", ["crawling:log", "crawling:crawl"])
def test_the_name_of_a_worker_is_short_on_pages_with_all_of_it_on_hover(run, viewer, route):
    worker = "0123456789abcdef" * 2
    write(run.pk, f"Shift began on {worker}, <process 1>.")

    page = soup(viewer.get(reverse(route, args=[run.crawl_id])))

    line = page.find("code", attrs={"title": worker}).parent
    assert "Shift began on 01234567…, <process 1>." in line.get_text()
    assert worker in viewer.get(f"/api/v1/crawls/{run.crawl_id}/log").content.decode()


def test_it_ends_with_the_newest_line_and_leads_to_older_ones_and_back_without_scripts(
    viewer, address, monkeypatch
):
    monkeypatch.setattr("crawling.dashboard.run.views.log.SHOWN", 4)
    first = viewer.get(address)
    assert shown(first) == [6, 7, 8, 9]

    second = viewer.get(address + soup(first).select_one("[rel=prev]")["href"])
    third = viewer.get(address + soup(second).select_one("[rel=prev]")["href"])
    assert (shown(second), shown(third)) == ([2, 3, 4, 5], [1])
    assert not soup(third).select("[rel=prev]")

    again = viewer.get(address + soup(second).select_one("[rel=next]")["href"])
    assert shown(again) == [6, 7, 8, 9]
    assert not soup(again).select("[rel=next]")


def test_a_filter_stands_in_the_address_of_every_link(viewer, address, monkeypatch):
    monkeypatch.setattr("crawling.dashboard.run.views.log.SHOWN", 2)
    page = viewer.get(f"{address}?level=warning&text=a.test")

    assert shown(page) == [6, 9]
    older = viewer.get(address + soup(page).select_one("[rel=prev]")["href"])
    assert shown(older) == [3]


def test_a_line_has_an_address_that_shows_what_is_about_it_whatever_the_filter(
    viewer, address, monkeypatch
):
    monkeypatch.setattr("crawling.dashboard.run.views.log.SHOWN", 4)
    link = next(
        row.a["href"]
        for row in soup(viewer.get(f"{address}?level=warning")).select("#lines li")
        if "line 6" in row.text
    )

    about = viewer.get(address + link)

    assert shown(about) == [5, 6, 7, 8]
    assert [
        row.get_text(" ", strip=True).split()[-1]
        for row in soup(about).select("#lines [aria-current]")
    ] == ["http://a.test/6"]
    assert link.endswith(f"#{soup(about).select_one('#lines [aria-current]')['id']}")
    assert viewer.get(f"{address}?line={10**9}").status_code == 404


def test_the_refresh_gets_what_is_new_and_nothing_but_lines(viewer, address, run):
    page = soup(viewer.get(address))
    write(run.pk, "line 10")

    answer = viewer.get(
        f"{address}?after={page.select_one('#lines')['data-following']}",
        headers={"HX-Request": "true"},
    )

    assert shown(answer) == [10]
    assert b"<html" not in answer.content


def test_a_line_that_is_seen_after_its_successor_is_not_missed(run):
    late = LogLine.objects.create(run=run, level=Level.INFO, message="line 10")
    LogLine.objects.create(run=run, level=Level.INFO, message="line 11")
    late_id = late.pk
    late.delete()  # it is not visible before its transaction has ended
    first = log_after(run, LogFilter(), after=pk(9), now=timezone.now(), most=50)
    LogLine.objects.create(pk=late_id, run=run, level=Level.INFO, message="line 10")

    second = log_after(run, LogFilter(), after=first.following, now=timezone.now(), most=50)
    settled = log_after(
        run, LogFilter(), after=second.following, now=timezone.now() + LONG_AGO, most=50
    )

    assert [line.message for line in first.lines] == ["line 11"]
    assert [line.message for line in second.lines] == ["line 10", "line 11"]
    assert (
        log_after(run, LogFilter(), after=settled.following, now=timezone.now(), most=50).lines
        == []
    )


def test_a_search_looks_at_so_many_lines_in_either_direction_and_goes_on_from_there(
    viewer, address, run, monkeypatch
):
    monkeypatch.setattr(log, "SEARCHED", 3)
    page = viewer.get(f"{address}?text=line 1")
    assert shown(page) == []
    assert "No lines match among the" in soup(page).main.get_text(" ", strip=True)
    for _ in range(2):
        page = viewer.get(address + soup(page).select_one("[rel=prev]")["href"])
    assert shown(page) == [1]

    found = log_after(run, LogFilter(text="line 9"), after=0, now=timezone.now(), most=50)
    assert (found.lines, found.newer) == ([], pk(3))
    assert [line.pk for line in whole_log(run, LogFilter(text="line 9"))] == [pk(9)]


def test_the_lines_of_a_span_of_time_are_had_from_anywhere_in_a_long_log(
    viewer, address, run, monkeypatch
):
    monkeypatch.setattr(log, "SEARCHED", 3)
    lines = list(LogLine.objects.filter(run=run).order_by("pk"))
    for number, line in enumerate(lines):  # a minute each, but for one that was written late
        LogLine.objects.filter(pk=line.pk).update(
            at=MIDNIGHT + timedelta(minutes=number, seconds=-65 if number == 5 else 0)
        )

    page = viewer.get(
        address, {"since": "2026-01-01T00:04", "until": "2026-01-01T00:06", "text": "line"}
    )

    assert shown(page) == [5]
    assert soup(page).select_one("[name=since]")["value"] == "2026-01-01T00:04"
    rest = LogFilter(span=TimeRange(MIDNIGHT + timedelta(minutes=4)))
    assert [line.message for line in whole_log(run, rest)] == [
        "line 5",
        "line 7",
        "line 8",
        "line 9",
    ]
    assert [
        row["id"]
        for row in viewer.get(
            f"/api/v1/crawls/{run.crawl_id}/log?until=2026-01-01T00:01:00Z"
        ).json()["items"]
    ] == [lines[0].pk]
    assert (
        viewer.get(address, {"since": "2027-01-01"}).status_code
        == viewer.get(address, {"since": "nonsense"}).status_code
        == viewer.get(address, {"since": "0001-01-01T00:00"}).status_code
        == viewer.get(address, {"until": "9999-12-31T23:59"}).status_code
        == 200
    )


@pytest.mark.parametrize("kind", ["txt", "jsonl"])
def test_all_that_the_filter_lets_through_is_had_as_a_file_a_line_each(
    viewer, address, run, kind, monkeypatch
):
    monkeypatch.setattr(log, "CHUNK", 2)
    write(run.pk, "line 12\nwith a break", level=Level.ERROR)

    answer = viewer.get(f"{address.rstrip('/')}.{kind}?level=warning")

    lines = answer.getvalue().decode().splitlines()
    assert len(lines) == 4
    assert f"-run-1-some-log.{kind}" in answer["Content-Disposition"]
    if kind == "jsonl":
        assert [json.loads(line)["level"] for line in lines] == ["warning"] * 3 + ["error"]
    else:
        assert lines[-1].endswith("error line 12 with a break")


def test_a_program_follows_by_a_cursor_that_is_never_at_its_end(viewer, run):
    get, path = viewer.get, f"/api/v1/crawls/{run.crawl_id}/log"
    first = get(f"{path}?after=0&limit=6").json()
    rest = get(f"{path}?after={first['next']}").json()
    write(run.pk, "line 10")
    new = get(f"{path}?after={rest['next']}").json()

    assert [item["message"] for item in first["items"] + rest["items"]] == [
        f"line {number}" for number in range(1, 10)
    ]
    assert [item["message"] for item in new["items"]] == ["line 10"]
    assert isinstance(new["next"], int)


def test_the_command_prints_the_end_and_follows_each_line_once_to_the_end_of_the_run(
    run, capsys, monkeypatch
):
    def pause(seconds):
        if not late:
            for number in range(10, 14):
                write(run.pk, f"line {number}")
            late.append(LogLine.objects.get(message="line 10"))
            # it is not visible before its transaction has ended
            LogLine.objects.filter(message="line 10").delete()
        else:
            late[0].save()
            Run.objects.filter(pk=run.pk).update(state="finished")

    late = []
    monkeypatch.setattr("crawling.dashboard.management.log.time.sleep", pause)
    # fewer than come before any of them has settled
    monkeypatch.setattr("crawling.dashboard.management.log.CHUNK", 2)
    call_command("crawl", "log", str(run.crawl_id), "--last", "2", "--follow", "--json")

    lines = [json.loads(line)["message"] for line in capsys.readouterr().out.splitlines()]
    assert lines == [f"line {number}" for number in (8, 9, 11, 12, 13, 10)]


def test_the_command_filters_and_says_what_is_wrong(run, capsys):
    call_command("crawl", "log", str(run.crawl_id), "--level", "warning", "--text", "LINE 6")
    assert capsys.readouterr().out.endswith("warning line 6 http://a.test/6\n")

    for words, sentence in (
        (["log"], "required: CRAWL"),
        (["log", "ghost"], "ghost"),
        (["log", str(run.crawl_id), "--run", "7"], "no run 7"),
    ):
        with pytest.raises(CommandError, match=sentence):
            call_command("crawl", *words)


def test_a_crawl_that_was_never_started_and_nonsense_do_no_harm(viewer, address, order, pool):
    from crawling.runs.crawls.creation import create_crawl

    draft = create_crawl(order("http://127.0.0.1:8900/"))
    assert viewer.get(reverse("crawling:log", args=[draft.pk])).status_code == 404
    assert shown(viewer.get(f"{address}?level=x&before=-1&after=y&line=z&text=%00")) == list(
        range(1, 10)
    )


def test_the_page_asks_the_same_queries_however_long_the_log_is(
    viewer, address, run, django_assert_max_num_queries
):
    viewer.get(address)
    with django_assert_max_num_queries(18):
        viewer.get(address)
    LogLine.objects.bulk_create(
        LogLine(run=run, level=Level.INFO, message=f"line {number}") for number in range(10, 1500)
    )
    with django_assert_max_num_queries(18):
        assert len(shown(viewer.get(address))) == 1000


def test_what_is_young_is_followed_from_the_first_line_that_is_shown(viewer, address, run, capsys):
    LogLine.objects.update(at=timezone.now())
    Run.objects.filter(pk=run.pk).update(state="finished")

    call_command("crawl", "log", str(run.crawl_id), "--last", "2", "--follow")

    assert len(capsys.readouterr().out.splitlines()) == 2

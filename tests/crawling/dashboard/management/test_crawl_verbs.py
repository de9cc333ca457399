"""The command line does to a crawl that exists the same as its page, told with the page's
address.
"""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from crawling.dashboard.management import log
from crawling.installation.run_log import write
from crawling.models import CrawlJob, LogLine, Run, Url, UrlState
from crawling.runs import steering
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from tests.crawling.pages import browser, soup


def printed(*words, **options):
    out = StringIO()
    call_command("crawl", *words, stdout=out, **options)
    return out.getvalue()


@pytest.fixture
def crawl(order):
    return create_crawl(order("http://127.0.0.1:8900/", name="Manuals", max_pages=7))


def test_a_crawl_is_started_again_and_its_failures_are_tried_again(
    crawl_to_the_end, make_site, worker
):
    run = crawl_to_the_end(f"{make_site({'/': '<a href=/gone>x</a>'}).url}/")

    told = json.loads(printed("retry", str(run.crawl_id), json=True, status=404))
    assert (told["state"], told["failed"], Url.objects.get(run=run, depth=1).state) == (
        "queued",
        0,
        UrlState.QUEUED,
    )
    with pytest.raises(CommandError, match="has no URL that failed with status 500"):
        printed("retry", str(run.crawl_id), status=500)
    steering.stop(run.crawl)

    assert json.loads(printed("start", run.crawl.name, json=True))["run"] == 2


def test_without_a_worker_nothing_is_started(crawl):
    with pytest.raises(CommandError, match="No worker is running"):
        printed("start", "Manuals")

    assert not Run.objects.exists()


def test_a_crawl_is_cloned_tagged_and_deleted_by_its_whole_name(crawl):
    copy = json.loads(printed("clone", "Manuals", json=True, name="Manuals of June"))
    assert (copy["state"], CrawlJob.objects.get(pk=copy["id"]).max_pages) == ("draft", 7)
    assert json.loads(printed("tag", "Manuals", json=True, tags="June, old"))["tags"] == [
        "June",
        "old",
    ]

    with pytest.raises(CommandError, match="needs the whole name, 'Manuals'"):
        printed("delete", str(crawl.pk), for_good=True)
    assert "Manuals is deleted" in printed("delete", str(crawl.pk))
    assert list(CrawlJob.objects.values_list("name", flat=True)) == ["Manuals of June"]
    assert f"crawl {crawl.pk}  Manuals  until" in printed("deleted")
    assert printed("restore", "Manuals") == "Manuals is restored.\n"
    assert set(CrawlJob.objects.values_list("name", flat=True)) == {"Manuals", "Manuals of June"}
    with pytest.raises(CommandError, match="no deleted crawl 'Manuals'"):
        printed("restore", "Manuals")


def test_every_verb_tells_the_page_of_the_crawl(crawl, settings):
    settings.DASHBOARD_URL = "https://crawls.example.org/"
    page = f"https://crawls.example.org/crawls/{crawl.pk}/"

    assert page in printed("show", "Manuals")
    assert json.loads(printed("show", "Manuals", json=True))["page"] == page
    assert printed("list").endswith("https://crawls.example.org/crawls/\n")


def test_the_page_of_a_crawl_prints_commands_that_do_what_its_buttons_do(crawl):
    start_run(crawl)

    commands = (
        soup(browser("operator").get(f"/crawls/{crawl.pk}/"))
        .select_one("details.commands code")
        .get_text()
        .splitlines()
    )

    assert "python manage.py crawl log Manuals --follow" in commands
    assert [command.split()[3] for command in commands[:4]] == ["pause", "stop", "abort", "show"]
    for command in (commands[0], commands[2]):
        call_command("crawl", *command.split()[3:], stdout=StringIO())
    assert crawl.runs.get().reason.startswith("Aborted")


def test_a_log_is_printed_oldest_first_and_followed_until_the_run_ends(crawl, monkeypatch):
    with pytest.raises(CommandError, match="has never been started"):
        printed("log", "Manuals")
    start_run(crawl)
    monkeypatch.setattr(log.time, "sleep", lambda seconds: steering.stop(crawl))

    lines = printed("log", "Manuals", follow=True).splitlines()

    assert [line.split(" ", 2)[2] for line in lines] == list(
        LogLine.objects.order_by("pk").values_list("message", flat=True)
    )
    assert "Stopped by the command line." in lines[1]
    assert [
        json.loads(line)["level"] for line in printed("log", "Manuals", json=True).splitlines()
    ] == ["info"] * len(lines)


class Terminal(StringIO):
    def isatty(self):
        return True


def test_a_terminal_obeys_nothing_that_pages_say(crawl):
    said = "\x1b]0;title\x07 \u202eabc \u05e9\u05dc\u05d5\u05dd \U0001f469\u200d\U0001f4bb"
    write(start_run(crawl).pk, said)
    terminal = Terminal()

    call_command("crawl", "log", "Manuals", stdout=terminal)

    assert "\ufffd]0;title\ufffd \ufffdabc" in terminal.getvalue()
    assert said[-8:] in terminal.getvalue()
    assert said in printed("log", "Manuals")  # a program reads what was said


@pytest.mark.parametrize(
    ("older", "words"),
    [
        (["--json", "show", "Manuals"], ["show", "Manuals", "--json"]),
        (["--text", "log", "log", "Manuals"], ["log", "Manuals", "--text", "log"]),
        (["--last=1", "log", "Manuals"], ["log", "Manuals", "--last", "1"]),
    ],
)
def test_options_may_stand_before_the_command(crawl, older, words):
    start_run(crawl)
    LogLine.objects.update(message="a line of the log")

    assert printed(*older) == printed(*words) != ""


def test_seeds_without_a_command_are_a_new_crawl(pool, loopback, worker):
    printed("--name", "list", "http://127.0.0.1:8900/")
    printed("new", "--name", "show", "http://127.0.0.1:8900/")

    assert set(CrawlJob.objects.values_list("name", flat=True)) == {"list", "show"}


def test_each_command_has_help_of_its_own(capsys):
    for command, option in (("new", "--max-pages"), ("pause", "--keep"), ("log", "--level")):
        with pytest.raises(SystemExit) as ended:
            printed(command, "--help")
        shown = capsys.readouterr().out
        assert (ended.value.code, option in shown, "--widen" in shown) == (0, True, False)

"""The command line against real workers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from datetime import timedelta
from io import StringIO

import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError, connection
from django.utils import timezone

from allocation.services import finish_process
from crawling.dashboard.base.crawl_views import crawl_view
from crawling.dashboard.management import follow_run
from crawling.jobs.rq_jobs import live_workers
from crawling.models import CrawlJob, Run
from crawling.models.jobs import ENDED_STATES
from crawling.runs import steering
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from tests.stack import SCHEDULER, WORKER, running_stack, wait_until


@pytest.fixture
def workers(transactional_db, pool, loopback, tmp_path):
    with running_stack(tmp_path) as stack:
        stack.start(SCHEDULER)
        stack.start(WORKER)
        wait_until(live_workers)
        yield stack


def printed(*words: str) -> str:
    out = StringIO()
    call_command("crawl", *words, stdout=out)
    return out.getvalue()


def test_a_crawl_is_followed_to_its_end_and_summed_up_for_people_and_programs(make_site, workers):
    site = make_site({"/": '<a href="/a">a</a>', "/a": ""})

    lines = printed(f"{site.url}/", "--delay", "0", "--wait", "--name", "[/brackets]")

    assert "[/brackets] (crawl" in lines
    assert "finished. Every URL in scope is done." in lines
    assert "2 pages fetched" in lines

    del site.pages["/a"]
    told = json.loads(printed(f"{site.url}/", "--delay", "0", "--wait", "--json"))

    assert (told["state"], told["discovered"], told["succeeded"], told["failed"]) == (
        "finished",
        2,
        1,
        1,
    )
    host = site.url.removeprefix("http://")

    del site.pages["/"]
    with pytest.raises(SystemExit) as ended:  # it fetched nothing
        printed(f"{site.url}/", "--delay", "0", "--wait")

    assert ended.value.code == 1
    names = CrawlJob.objects.order_by("pk").values_list("name", flat=True)
    assert list(names) == ["[/brackets]", host, f"{host} 2"]


def test_a_crawl_that_goes_on_beyond_its_time_is_left_with_status_3(
    make_site, workers, monkeypatch, capsys
):
    """A page hangs, and a shift gives it four seconds at its end: the run cannot end at once."""
    let_go = threading.Event()
    site = make_site({"/": lambda request: let_go.wait(60) and (200, {}, "at last")})
    for name in ("LATE_SECONDS", "SAY_SECONDS"):
        monkeypatch.setattr(follow_run, name, 0)

    with pytest.raises(SystemExit) as ended:
        printed(f"{site.url}/", "--delay", "0", "--wait", "--max-seconds", "2", "--name", "late")
    let_go.set()

    assert ended.value.code == 3
    # on a busy machine it has not even begun by then
    assert re.search("^(running|queued): ", capsys.readouterr().err, re.MULTILINE)
    wait_until(lambda: json.loads(printed("show", "late", "--json"))["state"] in ENDED_STATES)


def test_a_crawl_is_paused_resumed_and_stopped_by_name(make_site, workers):
    site = make_site({"/": "".join(f'<a href="/{n}">x</a>' for n in range(500))})
    printed(f"{site.url}/", "--delay", "0.05", "--name", "long one")
    state = lambda: json.loads(printed("show", "long one", "--json"))["state"]  # noqa: E731
    wait_until(lambda: len(site.paths) > 3)

    printed("pause", "long one")
    wait_until(lambda: state() == "paused")
    fetched = len(site.paths)
    assert "paused" in printed("show", "long one")
    assert len(site.paths) == fetched

    printed("resume", "long one")
    wait_until(lambda: len(site.paths) > fetched)
    printed("stop", "long one")
    wait_until(lambda: state() == "stopped")


def test_without_a_worker_it_says_so_and_makes_nothing(order):
    with pytest.raises(CommandError, match="No worker is running"):
        call_command("crawl", "http://127.0.0.1:8900/")

    assert not CrawlJob.objects.exists()


def test_the_list_is_for_people_or_for_programs(order, capsys):
    start_run(create_crawl(order("http://127.0.0.1:8900/", name="listed")))

    assert json.loads(printed("list", "--json"))[0]["name"] == "listed"
    printed("list")
    assert "listed" in capsys.readouterr().out


def test_who_crawls_is_set_and_shown(db):
    out = StringIO()
    call_command("identify", "librarybot", "https://library.example.org/bot", stdout=out)
    assert "User-Agent: librarybot/1.0 (+https://library.example.org/bot)" in out.getvalue()

    with pytest.raises(CommandError, match="Letters, - and _ only"):
        call_command("identify", "library bot 2", "https://library.example.org/bot")
    with pytest.raises(CommandError, match="Give a page"):
        call_command("identify", "librarybot", "nowhere")
    with pytest.raises(CommandError, match=r"^Letters, .*\. Give a page"):
        call_command("identify", "library bot 2", "nowhere")
    with pytest.raises(CommandError, match="Give a page"):  # no header can carry it
        call_command("identify", "librarybot", "https://図書館.example.org/bot")


def test_who_follows_a_crawl_is_told_why_nothing_moves(order, monkeypatch, capsys):
    crawl = create_crawl(order("http://127.0.0.1:8900/", name="resting"))
    run = start_run(crawl)
    finish_process(process=run.processes.get().bank_process_id)
    run.queues.update(due_at=timezone.now() + timedelta(minutes=2))
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(follow_run.time, "sleep", lambda seconds: steering.pause(crawl))
    Run.objects.filter(pk=run.pk).update(state="running", reason="Fetching.")

    follow_run.follow(crawl, show=True)

    assert "Resting: 127.0.0.1:8900 may be fetched from in" in capsys.readouterr().err


@pytest.mark.parametrize("patience", [60, -1])
def test_a_crawl_is_followed_beyond_a_restart_of_the_database(
    order, transactional_db, monkeypatch, patience
):
    crawl = create_crawl(order("http://127.0.0.1:8900/", name="resting"))
    start_run(crawl)
    looks = []

    def look(crawl):
        looks.append(crawl)
        if len(looks) == 2:
            with connection.cursor() as own:
                own.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        if len(looks) == 4:
            steering.abort(crawl)
        return crawl_view(crawl)

    monkeypatch.setattr(follow_run, "crawl_view", look)
    monkeypatch.setattr(follow_run, "OUTAGE_SECONDS", patience)

    if patience > 0:
        assert follow_run.follow(crawl, show=False)[0].state == "stopped"
        assert len(looks) == 4
    else:
        with pytest.raises(OperationalError):
            follow_run.follow(crawl, show=False)


def test_a_list_may_be_read_in_part():
    """As by `head`: the pipe is closed before the first line is printed."""
    reads, writes = os.pipe()
    os.close(reads)
    answer = subprocess.run(
        [sys.executable, "manage.py", "help"],
        cwd=settings.BASE_DIR,
        stdout=writes,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writes)

    assert (answer.returncode, answer.stderr) == (1, "")


def test_a_site_is_checked_with_an_exit_status_for_ci(make_site, workers, tmp_path, capsys):
    site = make_site({"/": '<title>t</title><a href="/gone">A</a><img src="/i.png" alt="I">'})
    options = (f"{site.url}/", "--name", "checked", "--delay", "0")

    with pytest.raises(SystemExit) as ended:
        printed("check", *options, "--keep", "--junit", str(tmp_path / "report.xml"))
    site.pages |= {"/gone": (301, {"Location": "/"}, ""), "/i.png": "here"}
    lines = printed("check", *options).splitlines()

    assert ended.value.code == 1
    assert (tmp_path / "report.xml").read_text().count('<failure type="broken"') == 2
    assert lines[:3] == [
        f"{site.url}/",
        "  description  It has no description.",
        f"  redirected  {site.url}/gone  301, permanent: a redirect to {site.url}/, 200 OK.  "
        "a href  “A”",
    ]
    assert Run.objects.filter(crawl__name="checked").count() == 2
    with pytest.raises(SystemExit):
        printed("check", *options, "--fail-on", "redirected")
    with pytest.raises(CommandError, match="other start URLs") as refused:
        printed("check", f"{site.url}/else", "--name", "checked")
    assert refused.value.returncode == 2

    kept = set(settings.ARCHIVE_DIR.rglob("*.warc.gz"))
    printed("check", f"{site.url}/", "--delay", "0")
    assert CrawlJob.objects.get().name == "checked"
    wait_until(lambda: CrawlJob.all_objects.count() == 1)  # the scheduler removes its rows
    wait_until(lambda: set(settings.ARCHIVE_DIR.rglob("*.warc.gz")) == kept)

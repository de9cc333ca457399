"""A run that was ended is resumed: the same run, and nothing is lost or fetched twice."""

from __future__ import annotations

import json
import os
import pty
import signal
from collections import Counter
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse
from django.utils import timezone

from allocation.models import Conservation, Process
from crawling.base.errors import WrongState
from crawling.dashboard.base.crawl_views import crawl_view
from crawling.models import CrawlJob, Page, Run, RunTotal
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.grants import leave_pool
from crawling.runs.start import start_run
from crawling.runs.steering import abort, pause, resume, stop
from crawling.scheduler.duties import register_continued_runs
from tests.crawling.acting import acting
from tests.crawling.archive.judging import files_of
from tests.crawling.pages import browser, soup
from tests.crawling.runs.test_kill import ladder
from tests.stack import SCHEDULER, WORKER, running_stack, wait_until, work_process_of

PAGES = 60


@pytest.fixture
def ended(make_site, order, work_off, monkeypatch):
    """Return a function that ends a run in the middle of its site, and returns both."""
    monkeypatch.setattr("crawling.fetching.shift.work.LOOK_SECONDS", 0)

    def end(how, **fields):
        site = make_site(ladder(PAGES))
        run = start_run(create_crawl(order(f"{site.url}/", batch_size=5, **fields)))
        body = site.pages["/12"]

        def at_12(request):
            status, headers, _ = acting(lambda: how(run.crawl))(request)
            return status, headers, body

        site.pages["/12"] = at_12
        run = work_off(run)
        site.pages["/12"] = body
        return site, run

    return end


@pytest.mark.parametrize("how", [stop, abort])
def test_the_same_run_continues_with_its_queue_and_fetches_nothing_twice(how, ended, work_off):
    site, run = ended(how)
    fetched = Counter(site.paths)
    assert run.state == "stopped"
    assert crawl_view(run.crawl).counts.queued > 0
    known = set(run.urls.values_list("pk", flat=True))
    recorded = {
        f"/{url.rpartition('/')[2]}"
        for url in run.urls.filter(state="s").values_list("url", flat=True)
    }

    again = work_off(resume(run.crawl))

    assert (again.pk, again.state, Run.objects.count()) == (run.pk, "finished", 1)
    assert known <= set(run.urls.values_list("pk", flat=True))
    assert Page.objects.filter(run=run).count() == PAGES
    twice = {path for path, count in Counter(site.paths).items() if count > 1} - {"/robots.txt"}
    # An abort drops what was in hand: it was asked for and not recorded, and is fetched again.
    assert twice <= (set() if how is stop else set(fetched) - recorded)
    assert [file.path.stat().st_size - file.committed_length for file in files_of(run)] == [
        0 for _ in files_of(run)
    ]
    assert not Process.objects.filter(state="active").exists()
    assert not [row for row in Conservation.objects.all() if row.difference]


def test_a_run_that_ended_at_a_limit_is_resumed_once_the_limit_is_raised(
    make_site, crawl_to_the_end, work_off
):
    run = crawl_to_the_end(f"{make_site(ladder(PAGES)).url}/", max_pages=10)
    with pytest.raises(WrongState, match=r"limit of 10 pages.*Raise that limit, then resume"):
        resume(run.crawl)

    CrawlJob.objects.update(max_pages=None)

    assert work_off(resume(CrawlJob.objects.get())).state == "finished"
    assert Page.objects.filter(run=run).count() == PAGES


@pytest.mark.parametrize(
    ("limit", "field", "offered"),
    [
        ({"max_pages": 10}, "max_pages", "20"),
        ({"max_bytes": 500_000}, "max_megabytes", "4"),
        ({"max_seconds": 60}, "max_minutes", "60"),
    ],
)
def test_a_run_that_ended_at_a_limit_continues_once_its_page_has_raised_it(
    ended, limit, field, offered
):
    _, run = ended(stop)
    CrawlJob.objects.update(**limit)
    RunTotal.objects.filter(run=run).update(fetched=10, bytes=2_000_000)
    Run.objects.update(started_at=timezone.now() - timedelta(minutes=29, seconds=55))
    operator, own = browser("operator"), reverse("crawling:crawl", args=[run.crawl_id])
    for place in (own, reverse("crawling:crawls")):
        button = soup(operator.get(place)).select_one("button[formaction$='/resume/']")
        assert button.text.strip() == "Raise the limit and continue"

    page = operator.post(button["formaction"], {"next": own}, follow=True)
    asked = soup(page).select_one("main form.order input:not([type=hidden])")
    assert (asked["name"], asked["value"]) == (field, offered)
    address = page.redirect_chain[-1][0]
    wrong = operator.post(address, {field: "many"})
    assert wrong.status_code == 422
    assert soup(operator.post(address, {field: "1"}, follow=True)).select_one(".message.error")
    told = soup(operator.post(address, {field: "500"}, follow=True)).select_one(".message").text

    assert "continues up to the new limit" in told
    run.refresh_from_db()
    assert run.state == "queued"
    assert "No run of it has ended at a limit" in soup(operator.get(address)).text


def test_a_run_with_an_empty_queue_is_not_resumed(make_site, crawl_to_the_end):
    run = crawl_to_the_end(f"{make_site({'/': 'x'}).url}/")

    with pytest.raises(WrongState, match="finished with an empty queue"):
        resume(run.crawl)

    run.refresh_from_db()
    assert run.state == "finished"
    assert run.finished_at is not None


def test_a_run_that_left_the_bank_after_it_was_resumed_is_enrolled_anew(ended, work_off):
    """As by a process that saw the end of the run before it was resumed, and was slow."""
    _, run = ended(stop)
    resume(run.crawl)
    leave_pool(run)

    register_continued_runs()

    assert work_off(Run.objects.get()).state == "finished"
    assert Page.objects.count() == PAGES


@pytest.mark.django_db(transaction=True)
def test_a_work_process_killed_after_the_resume_loses_and_repeats_nothing(ended, tmp_path):
    _, run = ended(stop)

    with running_stack(tmp_path, BANK_LEASE_SECONDS="2", BANK_PICKUP_SECONDS="3") as stack:
        stack.start(SCHEDULER)
        worker = stack.start(WORKER)
        before = Page.objects.count()
        resume(run.crawl)
        wait_until(lambda: Page.objects.count() > before)
        os.kill(work_process_of(worker).pid, signal.SIGKILL)
        wait_until(lambda: Run.objects.get().state == "finished")

    counts = crawl_view(run.crawl).counts
    assert (counts.discovered, counts.succeeded, counts.queued) == (PAGES, PAGES, 0)
    assert Page.objects.count() == PAGES
    assert sorted(run.urls.values_list("url", flat=True)) == sorted(
        set(run.urls.values_list("url", flat=True))
    )


def test_the_page_asks_with_the_count_before_it_stops_and_offers_resume_after(order):
    run = start_run(create_crawl(order(*(f"http://127.0.0.1:8900/{n}" for n in range(3)))))
    operator, here = browser("operator"), reverse("crawling:crawl", args=[run.crawl_id])
    address = reverse("crawling:steer", args=[run.crawl_id, "stop"])

    page = soup(operator.post(address, {"next": here}))
    assert "3 queued URLs and all pages are kept" in page.select_one(".warning").get_text()
    assert Run.objects.get().state == "queued"

    fields = {one["name"]: one.get("value", "") for one in page.select("main form input[name]")}
    assert operator.post(address, fields).url == here
    assert Run.objects.get().state == "stopped"
    verbs = [
        button.get_text(strip=True) for button in soup(operator.get(here)).select(".verbs > button")
    ]
    assert verbs == ["Resume", "Run again"]

    operator.post(reverse("crawling:steer", args=[run.crawl_id, "resume"]))
    assert (Run.objects.get().state, Run.objects.get().pk) == ("queued", run.pk)
    done = [json.loads(row.change_message)["action"] for row in LogEntry.objects.order_by("pk")]
    assert done[-2:] == ["stopped", "resumed"]


def test_a_new_run_in_the_place_of_a_stopped_one_is_asked_for_and_any_other_is_not(order):
    crawl = create_crawl(order("http://127.0.0.1:8900/"))
    operator = browser("operator")
    start = reverse("crawling:steer", args=[crawl.pk, "start"])
    assert operator.post(start).status_code == 302
    stop(crawl)

    page = soup(operator.post(start))
    assert "its 1 queued URL is not fetched" in page.select_one(".warning").get_text()
    assert Run.objects.count() == 1

    assert operator.post(start, {"confirmed": "yes"}).status_code == 302
    assert Run.objects.count() == 2
    with pytest.raises(WrongState, match="is queued and cannot be resumed"):
        resume(crawl)


def test_what_cannot_be_stopped_is_not_asked_about(order):
    crawl = create_crawl(order("http://127.0.0.1:8900/"))
    start_run(crawl)
    stop(crawl)

    address = reverse("crawling:steer", args=[crawl.pk, "stop"])
    answer = browser("operator").post(address, follow=True)

    assert "is stopped and cannot be stopped" in soup(answer).find(role="alert").get_text()


def test_json_resumes_a_stopped_run(order):
    run = start_run(create_crawl(order("http://127.0.0.1:8900/")))
    operator = browser("operator")
    address = f"/api/v1/crawls/{run.crawl_id}"

    assert operator.post(f"{address}/stop").json()["queued"] == 1
    assert operator.post(f"{address}/resume").json()["run"] == 1
    assert Run.objects.get().state == "queued"


def test_crawls_that_have_ended_are_resumed_together_only_if_the_filter_names_their_state(order):
    for name, end in (("paused", pause), ("stopped", stop)):
        end(start_run(create_crawl(order("http://127.0.0.1:8900/", name=name))).crawl)
    operator = browser("operator")

    def resumed(**wanted):
        body = {"action": "resume", "filter": wanted}
        answer = operator.post("/api/v1/bulk-actions", body, content_type="application/json")
        return answer.json()["changed"]

    assert resumed() == 1
    assert Run.objects.get(crawl__name="stopped").state == "stopped"
    assert resumed(state="stopped") == 1
    assert set(Run.objects.values_list("state", flat=True)) == {"queued"}


@pytest.fixture
def terminal(monkeypatch):
    """Return a function that types a line where commands read."""
    master, slave = pty.openpty()
    with os.fdopen(slave) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        yield lambda line: os.write(master, f"{line}\n".encode())
    os.close(master)


def test_the_command_line_asks_on_a_terminal_and_not_with_yes(order, terminal, capsys):
    start_run(create_crawl(order("http://127.0.0.1:8900/", name="Manuals")))

    terminal("n")
    with pytest.raises(CommandError, match="Nothing was changed"):
        call_command("crawl", "stop", "Manuals")
    assert "1 queued URL and all pages are kept" in capsys.readouterr().err
    assert Run.objects.get().state == "queued"

    terminal("y")
    call_command("crawl", "stop", "Manuals")
    assert Run.objects.get().state == "stopped"
    call_command("crawl", "resume", "Manuals")
    call_command("crawl", "abort", "Manuals", "--yes")
    assert Run.objects.get().reason.startswith("Aborted")

"""Background jobs of all kinds are listed, cancelled and asked for again in one place."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from crawling.jobs.running import run_job
from crawling.models import BackgroundJob, Run
from crawling.uses.extraction.jobs import request_extraction
from tests.crawling.pages import browser, soup
from tests.stack import background_queue

PAGE = "<title>{0}</title><i>italic {0}</i>"
RULES = {"italic": "i"}


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    links = "".join(f"<a href=/{number}>l</a>" for number in range(4))
    pages = {"/": PAGE.format("home") + links} | {f"/{n}": PAGE.format(n) for n in "0123"}
    return crawl_once(f"{shared.serve(pages).url}/")


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


@pytest.fixture(autouse=True)
def queue():
    with background_queue() as queue:
        yield queue


@pytest.fixture
def job(run):
    return request_extraction(run, RULES, by=None)


def listed(client, **query):
    answer = client.get("/api/v1/jobs", query)
    assert answer.status_code == 200, answer.content
    return answer.json()["items"]


def shown(client, address="/crawls/jobs/"):
    page = soup(client.get(address))
    return [" ".join(row.text.split()) for row in page.select("tbody tr")]


def test_a_job_is_listed_from_the_moment_it_is_asked_for_until_it_is_done(run, job):
    viewer = browser("viewer")
    (waiting,) = listed(viewer)
    assert (waiting["state"], waiting["kind"], waiting["percent"]) == (
        "waiting",
        "extraction",
        None,
    )
    assert "It waits for a background worker." in shown(viewer)[0]

    assert run_job(job.pk) == "extracted"

    (done,) = listed(viewer)
    assert (done["state"], done["percent"], done["progress"]["rows"]) == ("done", 100, 5)
    assert (done["crawl"], done["run"], done["attempts"]) == (run.crawl_id, 1, 0)
    (row,) = shown(viewer)
    assert row.startswith(f"Extraction {job.pk} {run.crawl.name} run 1 Done")


def test_the_list_is_cut_by_state_kind_and_crawl(run, job):
    viewer = browser("viewer")

    def found(**query):
        return [one["id"] for one in listed(viewer, **query)]

    assert (
        found(state="waiting") == found(kind="extraction") == found(crawl=run.crawl_id) == [job.pk]
    )
    assert found(state="done") == found(crawl=run.crawl_id + 1) == []
    assert shown(viewer, "/crawls/jobs/?state=done") == []
    assert len(shown(viewer, "/crawls/jobs/?state=nonsense&kind=nonsense")) == 1
    assert viewer.get("/api/v1/jobs", {"kind": "nonsense"}).status_code == 422
    assert viewer.get("/api/v1/jobs", {"state": "nonsense"}).status_code == 422


@pytest.mark.parametrize("state", ["waiting", "working", "done", "failed", "cancelled"])
def test_the_states_of_rows_and_of_the_filter_are_the_same(run, job, state):
    now = timezone.now()
    columns = {
        "waiting": {"began_at": now, "waits": "it waits"},
        "working": {"began_at": now},
        "done": {"began_at": now, "ended_at": now, "result": {}},
        "failed": {"ended_at": now, "trouble": "No."},
        "cancelled": {"ended_at": now, "trouble": "No.", "cancelled_at": now},
    }
    BackgroundJob.objects.filter(pk=job.pk).update(**columns[state])
    job.refresh_from_db()

    assert job.state == state
    assert [one["id"] for one in listed(browser("viewer"), state=state)] == [job.pk]


def test_the_list_goes_on_behind_its_last_row(run, job):
    rows = [BackgroundJob(kind="extraction", run=run, ended_at=timezone.now()) for _ in range(60)]
    BackgroundJob.objects.bulk_create(rows)
    viewer = browser("viewer")

    first = soup(viewer.get("/crawls/jobs/"))
    following = shown(viewer, "/crawls/jobs/" + first.select_one(".pager a[rel=next]")["href"])

    assert (len(first.select("tbody tr")), len(following)) == (50, 11)
    assert f"Extraction {job.pk} " in following[-1]


def test_a_job_that_a_worker_left_says_so(run, job):
    heard = timezone.now() - timedelta(minutes=5)
    rows = BackgroundJob.objects.filter(pk=job.pk)
    rows.update(began_at=heard, heartbeat_at=heard, progress={"done": 1, "of": 4})

    (row,) = shown(browser("viewer"))

    assert "Working: 25 %" in row
    assert "about 15 minutes left" in row
    assert "A worker was last heard of 5 minutes ago" in row.replace("\xa0", " ")


def test_an_operator_cancels_a_job_and_asks_for_it_again(run, job, queue):
    operator = browser("operator")
    operator.post(f"/crawls/jobs/{job.pk}/cancel/")
    assert queue.job_ids == []
    assert "Cancelled by operator" in shown(operator)[0]
    assert operator.post(f"/api/v1/jobs/{job.pk}/cancel").status_code == 409

    again = operator.post(f"/api/v1/jobs/{job.pk}/run-again")

    assert (again.status_code, again.json()["state"], again.json()["by"]) == (
        202,
        "waiting",
        "operator",
    )
    assert queue.job_ids == [f"job-{again.json()['id']}"]
    assert run_job(again.json()["id"]) == "extracted"
    refused = operator.post(f"/api/v1/jobs/{again.json()['id']}/run-again")
    assert (refused.status_code, "is done" in refused.json()["detail"]) == (409, True)


def test_a_page_offers_what_its_user_may_do(run, job):
    button = f"button[formaction='/crawls/jobs/{job.pk}/cancel/']"
    viewer, operator = browser("viewer"), browser("operator")

    offered = [soup(one.get("/crawls/jobs/")).select(button) for one in (viewer, operator)]

    assert [len(found) for found in offered] == [0, 1]
    assert viewer.post(f"/crawls/jobs/{job.pk}/cancel/").status_code == 403


def test_the_command_line_lists_shows_cancels_and_runs_again(run, job, capsys):
    def said(*words):
        call_command("crawl", "job", *words)
        return capsys.readouterr().out.strip()

    assert said().startswith(f"{job.pk}  extraction of {run}  waiting  asked for ")
    assert said("--state", "done", "--of", str(run.crawl_id)) == "There are no such jobs."
    assert "cancelled" in said(str(job.pk), "--cancel")
    again = json.loads(said(str(job.pk), "--run-again", "--json"))
    assert (again["state"], again["id"] > job.pk) == ("waiting", True)
    assert [one["id"] for one in json.loads(said("--json"))] == [again["id"], job.pk]
    with pytest.raises(CommandError, match="There is no job 0"):
        said("0")
    with pytest.raises(CommandError, match="Which job"):
        said("--cancel")

"""The experiments pages: tables 1 to 3, figure 3, and a form that starts an experiment in the
background."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import django_rq
import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from crawling.jobs.job_rows import end_job
from crawling.jobs.running_job import RunningJob
from crawling.models import BackgroundJob
from experiments import pages, store
from experiments.figure import waiting_figure
from experiments.models import Experiment, ExperimentOutcome, ExperimentState
from experiments.report import experiment_view
from tests.crawling.pages import browser, soup
from tests.stack import running_stack, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

BEGAN = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
ASKED = {"policy": "both", "requests": 3, "bound_seconds": 0.5, "seed": 2}


@pytest.fixture
def experiment():
    """A finished experiment of two requests: plain, the second one was locked and tried again; by
    the Banker's, both went through.
    """
    experiment = store.make_experiment(
        requests=2, bound_seconds=5, seed=9, policies=["naive", "banker"]
    )
    BackgroundJob.objects.update(began_at=timezone.now())
    tries = {
        "naive": [(1, 1, 1.0, False), (2, 1, 5.0, True), (2, 2, 0.25, False)],
        "banker": [(1, 1, 1.5, False), (2, 1, 3.0, False)],
    }
    for policy, rows in tries.items():
        for number, attempt, waited, is_locked in rows:
            record(experiment, policy, tried(number, attempt, number, waited, is_locked=is_locked))
    store.count_unsafe_grants(experiment, "naive", {(2, 1): 2, (1, 1): 0})
    assert end_job(experiment.job, {})
    experiment.refresh_from_db()
    return experiment


def record(experiment, policy, result):
    job = RunningJob(experiment.job, lambda: True)
    store.RunningExperiment(experiment, job).record(policy, result)


def tried(number, attempt, began, waited, *, is_locked=False, round=1):
    """A try that began so many seconds after BEGAN, and took a second more than it waited."""
    outcome = ExperimentOutcome.LOCKED if is_locked else ExperimentOutcome.COMPLETED
    started = BEGAN + timedelta(seconds=began)
    ended = started + timedelta(seconds=waited + 1)
    return store.AttemptResult(
        number,
        attempt,
        started,
        ended,
        waited,
        outcome,
        deadlocked=is_locked,
        pages=4,
        round=round,
    )


def cells(page, heading):
    section = page.find(id=heading).parent
    return [
        [cell.get_text(" ", strip=True) for cell in row.find_all(["th", "td"])]
        for row in section.select("tbody tr")
    ]


def test_the_three_tables_are_those_of_the_paper_beside_its_own(experiment):
    page = soup(browser("viewer").get(experiment.get_absolute_url()))

    assert [row[:7] for row in cells(page, "table-3")] == [
        ["plain requests", "6.0 s", "6.3 s", "1", "50 %", "1", "2"],
        ["Banker's algorithm", "4.5 s", "4.5 s", "0", "0 %", "0", "–"],
    ]
    assert cells(page, "table-1")[1][:5] == ["Locked:Request2", "12:00:02", "5.00 s", "5 s", "yes"]
    assert cells(page, "table-2")[1][0] == "Completed:Request2"
    assert cells(page, "paper")[1] == ["Banker's algorithm", "1:38:28", "2 (printed: 20)", "2 %"]
    assert cells(page, "paper")[2][1] == "0.763"


def test_no_more_is_claimed_than_unsafe_grants_and_deadlocks_show(experiment):
    client = browser("viewer")
    page = soup(client.get(experiment.get_absolute_url()))

    meaning = page.find(id="meaning").parent.get_text(" ", strip=True)
    assert "1 of them deadlocked; 2 grants were unsafe." in " ".join(meaning.split())
    assert "does not show under which policy requests wait less" in meaning
    row = soup(client.get("/experiments/")).select_one("tbody tr").find_all("td")[-1]
    assert row.get_text(" ", strip=True) == "plain requests: 2 Banker's algorithm: –"


def test_a_policy_took_as_long_as_its_rounds(experiment):
    record(experiment, "naive", tried(3, 1, 100.0, 1.0, round=2))

    plain = experiment_view(experiment).columns[0]
    assert plain.seconds == 7.0 + 2.0, "from 1 to 8 s, and from 100 to 102 s"


def test_the_figure_has_a_title_a_description_and_a_dot_for_each_request(experiment):
    figure = soup(browser("viewer").get(experiment.get_absolute_url())).find("svg", class_="plot")

    assert "Wait of each request" in figure.title.get_text()
    assert (
        "plain requests, 1 of 2 over the time limit of 5 seconds" in figure.find("desc").get_text()
    )
    dots = [path["d"].count("h0") for path in figure.select("path.dots")]
    assert dots == [1, 1, 2, 0], "within the limit and over it, of each policy"
    times = [text.get_text() for text in figure.find_all("text", class_="time")]
    first = experiment.tries.order_by("started_at").first().started_at
    assert times[0] == f"{first:%H:%M:%S}", "the time of day at which the first request began"
    assert len(times) >= 2


def test_the_figure_keeps_within_its_frame_and_marks_round_numbers():
    rounds = [[(0.0, 0.0, False), (3.0, 1.0, False)], [(33.0, 5.3, True)]]
    figure = waiting_figure({"one": rounds, "none": []}, bound_seconds=5.0, began=BEGAN)

    assert figure.lines[0].path.count("M") == 2, "no line leads through the turn of another policy"
    dots = [figure.lines[0].rounds[0][0], figure.lines[0].rounds[1][0]]
    assert (dots[0].x, dots[0].y, dots[1].x) == (figure.left, figure.foot, figure.right)
    assert figure.top <= dots[1].y < figure.bound_at < figure.foot
    assert [mark.label for mark in figure.across] == ["0", "10", "20", "30"]
    assert [mark.label for mark in figure.up] == ["0", "1", "2", "3", "4", "5"]


def test_tables_1_and_2_show_the_same_requests_a_page_at_a_time(experiment, monkeypatch):
    monkeypatch.setattr(pages, "REQUESTS", 1)
    page = soup(browser("viewer").get(f"{experiment.get_absolute_url()}?page=2"))

    assert [row[0] for row in cells(page, "table-1")] == ["Locked:Request2"]
    assert [row[0] for row in cells(page, "table-2")] == ["Completed:Request2"]
    pager = page.select_one("#table-1").parent.select_one(".pager")
    assert "2 to 2 of 2 requests" in pager.get_text()
    assert pager.select_one("[rel=prev]")["href"] == "?page=1#table-1"
    assert len(page.select("path.dots")) == 4, "the figure has all"


def test_a_refresh_gets_only_what_changes(experiment):
    client = browser("viewer")

    for path in ("/experiments/", experiment.get_absolute_url()):
        assert "<nav" in client.get(path).content.decode()
        assert "<html" not in client.get(path, headers={"HX-Request": "true"}).content.decode()


def test_the_list_asks_as_few_queries_for_many_experiments_as_for_one(experiment):
    client = browser("viewer")
    client.get("/experiments/")
    with CaptureQueriesContext(
        connection,
    ) as few:
        client.get("/experiments/")
    for _ in range(5):
        store.make_experiment(requests=2, bound_seconds=5, seed=9, policies=["naive"])

    with CaptureQueriesContext(connection) as many:
        page = client.get("/experiments/")

    assert len(soup(page).select("tbody tr")) == 6
    assert len(many) == len(few)


def test_a_viewer_sees_no_form_and_may_not_start_an_experiment():
    viewer = browser("viewer")

    assert not soup(viewer.get("/experiments/")).select("form.order")
    assert viewer.post("/experiments/", ASKED).status_code == 403
    assert not Experiment.objects.exists()


def test_a_wrong_number_is_told_beside_its_field_and_starts_nothing():
    answer = browser("operator").post("/experiments/", {**ASKED, "requests": 100_000})

    assert answer.status_code == 422
    assert "less than or equal to 500" in soup(answer).find(id="id_requests_error").get_text()
    assert not Experiment.objects.exists()


def test_an_operator_starts_an_experiment_and_the_background_worker_runs_it(tmp_path):
    django_rq.get_queue("background").empty()
    operator = browser("operator")

    page = operator.post("/experiments/", ASKED, follow=True)

    assert "waits for the background worker" in page.content.decode()
    with running_stack(tmp_path) as stack:
        stack.start(["rqworker", "background", "--burst", "--serializer", "json"])
        wait_until(lambda: Experiment.objects.get().state == ExperimentState.FINISHED)
    experiment = Experiment.objects.get()
    assert experiment.job.by.get_username() == "operator"
    assert (
        LogEntry.objects.get(object_id=str(experiment.pk), content_type__model="experiment").user
        == experiment.job.by
    )
    assert experiment_view(experiment).requests_done == 6


def test_an_operator_cancels_an_experiment_on_its_page_and_runs_it_again():
    experiment = store.make_experiment(requests=2, bound_seconds=5, seed=9, policies=["naive"])
    operator, path = browser("operator"), experiment.get_absolute_url()
    (button,) = soup(operator.get(path)).select("#live button")

    page = soup(operator.post(button["formaction"], follow=True)).find(id="live")

    assert button.get_text() == "Cancel"
    assert "Cancelled by operator, " in page.get_text()
    assert page.select_one(".state-stopped").get_text() == "cancelled"
    assert not page.select(".state-failed, .error")
    again = page.select_one("form")
    fields = {field["name"]: field["value"] for field in again.select("input[name]")}
    operator.post(again["action"], fields)
    another = Experiment.objects.first()
    same = ("kind", "policies", "requests", "bound_seconds", "seed")
    assert [getattr(another, name) for name in same] == [getattr(experiment, name) for name in same]
    assert (another.state, another.job.by.username) == ("queued", "operator")

"""Users cancel what they have asked background jobs for: waiting, at work, and too late."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from threading import Event

import django_rq
import psycopg
import pytest
from django.conf import settings as project
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from allocation.models import Process, ProcessState
from crawling.base.errors import WrongState
from crawling.jobs.cancel import cancel_job, cancel_job_of_run, clear_cancelled_jobs
from crawling.jobs.job_rows import end_job
from crawling.jobs.kinds import job_kinds
from crawling.jobs.rq_jobs import BACKGROUND as BACKGROUND_QUEUE
from crawling.jobs.rq_jobs import IMPORTS, remove_rq_job
from crawling.jobs.running import NOT_WANTED, run_job
from crawling.models import BackgroundJob, CrawlJob, Inquiry
from crawling.scheduler.messages import resend_lost_background_jobs
from crawling.uses.alerts.models import Notice
from crawling.uses.exports.jobs import MIRROR, WACZ
from crawling.uses.imports.import_jobs import request_import
from crawling.uses.imports.jobs import IMPORT, ArchiveImport
from experiments.models import Experiment, ExperimentState
from tests.crawling.pages import browser, log_in, soup
from tests.crawling.uses.imports.warc_files import answer, warc
from tests.stack import (
    BACKGROUND,
    background_queue,
    running_stack,
    test_database_url,
    wait_until,
    work_process_of,
)

RULES = {"rules": {"title": "title"}}
#: how each is asked for in JSON, and the page on which it is waited for
ASKED = {
    "wacz": ("wacz", None, "wacz"),
    "mirror": ("mirror", None, "mirror"),
    "latest-mirror": ("latest-mirror", None, "latest-mirror"),
    "link-graph": ("graph/compute", None, "graph"),
    "extraction": ("extractions", RULES, "extracted"),
    "checkpoint": ("checkpoints", None, "checkpoints"),
}
SECONDS = 8.0
#: where the tests have it; each test has an empty folder of state


@pytest.fixture
def place(settings, tmp_path):
    settings.CHECKPOINT_DIR = tmp_path / "checkpoints"
    settings.STATE_DIR = tmp_path / "state"
    settings.IMPORT_DIR = tmp_path / "imports"
    settings.IMPORT_DIR.mkdir()
    return tmp_path


@pytest.fixture
def queue(place, transactional_db):
    with background_queue() as queue:
        yield queue
        django_rq.get_queue(IMPORTS).empty()


@pytest.fixture
def run(queue, make_site, crawl_to_the_end):
    links = "".join(f'<a href="/{number}">{number}</a>' for number in range(3))
    pages = {f"/{number}": f"<title>Page {number}</title>" for number in range(3)}
    site = make_site({"/": f"<title>Home</title>{links}", **pages})
    return crawl_to_the_end(f"{site.url}/")


@pytest.fixture
def ada(run) -> Client:
    return browser("operator", first_name="Ada")


def another(role: str) -> Client:
    user, client = User.objects.create_user(f"another {role}"), Client()
    user.groups.add(Group.objects.get(name=role))
    log_in(client, user)
    return client


def ask(client: Client, run, kind: str):
    path, body, _ = ASKED[kind]
    path = f"/api/v1/crawls/{run.crawl_id}/{path}"
    answered = client.post(path, json.dumps(body or {}), content_type="application/json")
    assert answered.status_code == 202, answered.content
    return answered.json()


def cancel(client: Client, run, kind: str):
    return client.post(f"/api/v1/crawls/{run.crawl_id}/jobs/{kind}/cancel")


def row_of(kind: str):
    return BackgroundJob.objects.filter(kind=kind).latest("pk")


def page(client: Client, run, kind: str) -> str:
    return soup(client.get(f"/crawls/{run.crawl_id}/{ASKED[kind][2]}/")).select_one("main").text


@contextmanager
def pages_held():
    """No job reads or writes a row of a page meanwhile."""
    with psycopg.connect(test_database_url()) as other:
        other.execute("LOCK TABLE crawling_page IN ACCESS EXCLUSIVE MODE")
        yield


def waits_for_pages() -> bool:
    with psycopg.connect(test_database_url()) as other:
        found = other.execute(
            "SELECT 1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE NOT granted "
            "AND relation = 'crawling_page'::regclass AND datname = current_database()"
        )
        return found.fetchone() is not None


@contextmanager
def at_work(place, **settings: str):
    """A worker of background jobs, as the Procfile starts it."""
    folders = {
        name: str(place / folder)
        for name, folder in (
            ("CHECKPOINT_DIR", "checkpoints"),
            ("STATE_DIR", "state"),
            ("IMPORT_DIR", "imports"),
        )
    }
    env = {"ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8", **folders, **settings}
    env["SECRET_KEY"] = project.SECRET_KEY  # which is otherwise that of the folder of state
    with running_stack(place, **env) as stack:
        yield stack.start(BACKGROUND)


def left_on_disk(place, run) -> list[str]:
    """Files that a job has begun, and folders in which it worked."""
    folders = [
        *Path(project.ARCHIVE_DIR).glob("wacz*/*"),
        *Path(project.ARCHIVE_DIR).glob("*mirror*/*"),
        *Path(project.ARCHIVE_DIR).glob("link-graph*/*"),
        *(place / "checkpoints").glob("*"),
        *(place / "checkpoints").glob(".*"),
        *(place / "state" / "jobs-at-work").glob("*"),
    ]
    return [str(path) for path in folders]


def jobs_in_redis() -> list[str]:
    """The jobs that wait, work or have failed."""
    found = []
    for name in (BACKGROUND_QUEUE, IMPORTS):
        queue = django_rq.get_queue(name)
        found += queue.job_ids
        found += queue.started_job_registry.get_job_ids()
        found += queue.failed_job_registry.get_job_ids()
    return found


def units_held() -> int:
    moments = Process.objects.filter(run_ref__startswith="moment/", state=ProcessState.ACTIVE)
    return sum(sum(one.allocated) for one in moments)


@pytest.mark.parametrize("kind", ASKED)
def test_a_job_that_waits_ends_at_once_and_its_page_says_who_cancelled_it(place, run, ada, kind):
    ask(ada, run, kind)
    assert "Cancel" in page(ada, run, kind)

    told = cancel(ada, run, kind)

    assert (told.status_code, told.json()["cancelled_by"]) == (200, "operator")
    assert jobs_in_redis() == []
    resend_lost_background_jobs()
    assert jobs_in_redis() == []
    shown = page(ada, run, kind)
    assert "Cancelled by operator, " in shown.replace("\n", " ")
    assert not soup(ada.get(f"/crawls/{run.crawl_id}/{ASKED[kind][2]}/")).select(".message.error")
    entry = LogEntry.objects.latest("pk")
    assert (entry.user.username, entry.object_id) == ("operator", str(run.crawl_id))
    assert f"cancelled: {job_kinds()[kind].label}" in entry.change_message
    assert not Notice.objects.exists()


@pytest.mark.parametrize("kind", ASKED)
def test_a_job_at_work_ends_within_seconds_and_leaves_nothing(place, run, ada, kind):
    with at_work(place) as worker:
        with pages_held():
            ask_while_held(ada, run, kind)
            wait_until(waits_for_pages)
            began = time.monotonic()
            assert cancel(ada, run, kind).status_code == 200
            wait_until(lambda: work_process_of(worker) is None)
            took = time.monotonic() - began
            wait_until(lambda: jobs_in_redis() == [])
        assert took < SECONDS
        assert (left_on_disk(place, run), units_held()) == ([], 0)
        assert row_of(kind).cancelled_by.username == "operator"
        ask(ada, run, kind)  # the same worker does it
        wait_until(lambda: is_done(kind))


def ask_while_held(client: Client, run, kind: str) -> None:
    """Asking reads no page."""
    ask(client, run, kind)


def is_done(kind: str) -> bool:
    row = row_of(kind)
    return row.state == "done"


def test_a_job_that_has_ended_cannot_be_cancelled_and_none_is_cancelled_twice(place, run, ada):
    run_job(asked_wacz(ada, run))
    late = cancel(ada, run, "wacz")
    ask(ada, run, "mirror")
    first, second = cancel(ada, run, "mirror"), cancel(another("administrator"), run, "mirror")

    assert [late.status_code, first.status_code, second.status_code] == [409, 200, 409]
    assert "has ended, or was cancelled before" in second.json()["detail"]
    assert row_of("wacz").state == "done"
    assert row_of("mirror").cancelled_by.username == "operator"


def asked_wacz(client, run) -> int:
    ask(client, run, "wacz")
    return row_of("wacz").pk


def test_what_a_job_has_made_as_it_was_cancelled_is_removed(place, run, ada, monkeypatch):
    """The user was faster by a moment than the end of the job."""
    number = asked_wacz(ada, run)
    done = Event()
    put = type(storage_of()).put

    def put_and_cancel(self, name, pieces):
        size = put(self, name, pieces)
        cancel_job_of_run(WACZ, run, by=None)
        done.set()
        return size

    monkeypatch.setattr(type(storage_of()), "put", put_and_cancel)
    run_job(number)

    assert done.is_set()
    assert (row_of("wacz").result, left_on_disk(place, run)) == (None, [])


def storage_of():
    from crawling.base.storage import storage

    return storage()


def test_a_worker_that_was_killed_leaves_nothing_once_its_job_is_cancelled(place, run, ada):
    with at_work(place) as worker, pages_held():
        ask(ada, run, "wacz")
        wait_until(waits_for_pages)
        wait_until(lambda: work_process_of(worker) is not None)
        child = work_process_of(worker)
        child.suspend()  # it cannot end in order
        worker.kill()
        child.kill()
        child.wait(60)
        worker.wait(60)
    wait_until(lambda: is_alone("wacz"))

    assert cancel(ada, run, "wacz").status_code == 200

    assert (left_on_disk(place, run), jobs_in_redis()) == ([], [])
    resend_lost_background_jobs()
    assert not [one for one in jobs_in_redis() if one.startswith("job")]


def is_alone(kind: str) -> bool:
    with job_kinds()[kind].job.alone(row_of(kind).pk) as is_alone:
        return is_alone


def test_the_scheduler_removes_what_a_job_left_that_was_killed_as_it_was_cancelled(place, run, ada):
    ask(ada, run, "checkpoint")
    row = row_of("checkpoint")
    with job_kinds()["checkpoint"].job.alone(row.pk):
        cancel(ada, run, "checkpoint")
    begun = place / "checkpoints" / f".crawl{run.crawl_id}-run1-{row.asked_at:%Y%m%dT%H%M%SZ}"
    begun = begun.with_name(f"{begun.name}-{row.pk}.4711")
    begun.mkdir(parents=True)

    clear_cancelled_jobs()

    assert left_on_disk(place, run) == []
    assert run_job(row.pk) == NOT_WANTED


def test_a_job_that_another_process_has_removed_stops_no_worker(queue):
    """The scheduler and the worker both remove a job that was cancelled."""
    WACZ.job.enqueue(-1)
    job = queue.fetch_job("job--1")

    remove_rq_job(job)
    remove_rq_job(job)

    assert queue.fetch_job("job--1") is None


def test_a_work_process_ends_with_its_worker(place, run, ada):
    with at_work(place) as worker, pages_held():
        ask(ada, run, "wacz")
        wait_until(waits_for_pages)
        wait_until(lambda: work_process_of(worker) is not None)
        child = work_process_of(worker)
        worker.kill()
        child.wait(60)
    assert left_on_disk(place, run) == []
    assert row_of("wacz").state == "waiting"  # the scheduler has it begun anew


@pytest.mark.parametrize("words", [("wacz",), ("mirror", "--run", "1")])
def test_the_command_line_cancels(place, run, ada, words):
    ask(ada, run, words[0])
    out = StringIO()

    call_command("crawl", "cancel-job", str(run.crawl_id), *words, stdout=out)

    assert "run 1: cancelled." in out.getvalue()
    assert "Cancelled by the command line" in page(ada, run, words[0])
    with pytest.raises(CommandError, match="cancelled before"):
        call_command("crawl", "cancel-job", str(run.crawl_id), *words, stdout=out)


def preview(client: Client, run, again: str = ""):
    path = f"/api/v1/crawls/{run.crawl_id}/extractions/previews?rules=title%20=%20title"
    return client.get(path)


def test_a_question_is_cancelled_by_who_asked_and_asked_again_by_a_button(place, run, ada):
    asked = preview(ada, run).json()
    other, administrator = another("operator"), another("administrator")
    address = f"/api/v1/inquiries/{asked['id']}"
    assert other.post(f"{address}/cancel").status_code == 403

    told = ada.post(f"{address}/cancel")

    assert (told.status_code, told.json()["state"]) == (200, "cancelled")
    assert administrator.post(f"{address}/cancel").status_code == 409
    shown = f"/crawls/{run.crawl_id}/extracted/?run=1&rules=title%20=%20title"
    assert "Cancelled by operator" in soup(ada.get(shown)).text
    assert Inquiry.objects.count() == 1  # to look at the page asks nothing
    assert preview(other, run).json()["id"] != asked["id"]  # others are answered
    assert ada.post(f"{address}/ask-again").json()["state"] == "waiting"
    assert "Cancelled by" not in soup(ada.get(shown)).text


def test_a_question_has_a_button_for_those_who_may_cancel_it_and_no_others(place, run, ada):
    asked = preview(ada, run).json()
    shown = f"/crawls/{run.crawl_id}/extracted/?run=1&rules=title%20=%20title"
    lookers = {role: another(role) for role in ("administrator", "operator", "viewer")}
    button = f"button[formaction$='/inquiries/{asked['id']}/cancel/']"

    having = {role for role, client in lookers.items() if soup(client.get(shown)).select(button)}

    assert having == {"administrator"}
    assert soup(ada.get(shown)).select(button)
    assert Inquiry.objects.count() == 1
    lookers["administrator"].post(f"/crawls/inquiries/{asked['id']}/cancel/")
    assert Inquiry.objects.get().state == "cancelled"


def test_an_import_is_cancelled_while_its_run_is_stored(place, queue, pool, loopback):
    pages = [answer(f"http://127.0.0.1:8900/{number}") for number in range(20)]
    (place / "imports" / "a.warc").write_bytes(warc(*pages, packed=False))
    ada = browser("operator")
    asked = ada.post("/api/v1/imports", {"files": ["a.warc"]}, content_type="application/json")
    number = asked.json()["id"]
    with at_work(place) as worker:
        with pages_held():
            wait_until(waits_for_pages)
            assert ArchiveImport.from_job(BackgroundJob.objects.get()).state == "storing"
            told = ada.post(f"/api/v1/imports/{number}/cancel")
            wait_until(lambda: work_process_of(worker) is None)
            wait_until(lambda: jobs_in_redis() == [])
        assert (told.status_code, told.json()["state"]) == (200, "cancelled")
        assert CrawlJob.objects.count() == 0
        assert list(Path(project.ARCHIVE_DIR).glob("run*/*")) == left_on_disk(place, None) == []
    entry = LogEntry.objects.latest("pk")
    assert (entry.user.username, "cancelled" in entry.change_message) == ("operator", True)


def test_an_import_is_either_cancelled_or_there(place, queue, pool, loopback, monkeypatch):
    """The user is late by a moment: the run is there, and the import says so."""
    (place / "imports" / "a.warc").write_bytes(
        warc(answer("http://127.0.0.1:8900/1"), packed=False)
    )
    ada = browser("operator")
    row = request_import(["a.warc"], "", by=User.objects.get(username="operator"))

    run_job(row.pk)
    told = ada.post(f"/api/v1/imports/{row.pk}/cancel")

    row.refresh_from_db()
    assert (told.status_code, row.state, row.run.pages.count()) == (409, "done", 1)


def test_an_import_whose_worker_was_killed_goes_before_those_that_wait(place, queue):
    for name in ("a", "b", "c"):
        (place / "imports" / f"{name}.warc").touch()
    lost, *others = (request_import([f"{name}.warc"], "", by=None) for name in "abc")
    imports = django_rq.get_queue(IMPORTS)
    job = imports.fetch_job(f"job-{lost.pk}")
    imports.remove(job)
    job.set_status("started")  # and no worker says that it goes on

    assert IMPORT.job.enqueue_if_lost(lost.pk)

    assert imports.job_ids == [f"job-{one.pk}" for one in (lost, *others)]


def test_a_job_that_waits_for_its_worker_is_not_cancelled_by_a_viewer(place, run, ada):
    ask(ada, run, "wacz")
    viewer = another("viewer")

    assert cancel(viewer, run, "wacz").status_code == 403
    assert "Cancel" not in page(viewer, run, "wacz")
    with pytest.raises(WrongState):
        cancel_job_of_run(MIRROR, run, by=None)


def test_a_button_without_scripts_leads_back_to_its_page(place, run, ada):
    ask(ada, run, "wacz")
    here = f"/crawls/{run.crawl_id}/wacz/?run=1"
    button = soup(ada.get(here)).find("button", string="Cancel")

    led = ada.post(button["formaction"], {"next": here})

    assert led.url == here
    assert row_of("wacz").cancelled_at


def start_experiment(client: Client) -> Experiment:
    """One that soon locks itself, and has something to tell of as soon as a bound is over."""
    asked = {"policy": "naive", "requests": 100, "bound_seconds": 0.5}
    made = client.post("/api/v1/experiments", json.dumps(asked), content_type="application/json")
    assert made.status_code == 201, made.content
    return Experiment.objects.get()


def test_an_experiment_that_waits_leaves_the_queue_once_it_is_cancelled(queue):
    ada = browser("operator")
    experiment = start_experiment(ada)
    address = f"/api/v1/experiments/{experiment.pk}/cancel"
    assert another("operator").post(address).status_code == 403
    assert jobs_in_redis() == [f"job-{experiment.job_id}"]

    told = ada.post(address)

    assert told.json()["state"] == "cancelled"
    assert told.json()["cancelled_by"] == "operator"
    assert jobs_in_redis() == []
    assert another("administrator").post(address).status_code == 409
    entry = LogEntry.objects.latest("pk")
    assert (entry.user.username, "cancelled" in entry.change_message) == ("operator", True)


def test_an_experiment_at_work_gives_back_its_units_and_keeps_what_it_has_tried(place, queue):
    ada, out = browser("operator"), StringIO()
    experiment = start_experiment(ada)
    with at_work(place) as worker:
        wait_until(experiment.tries.exists)
        call_command("crawl", "cancel-experiment", str(experiment.pk), stdout=out)
        shown = soup(ada.get(f"/experiments/{experiment.pk}/")).find(id="live").text
        wait_until(lambda: work_process_of(worker) is None)
        wait_until(lambda: jobs_in_redis() == [])
    experiment.refresh_from_db()
    assert (out.getvalue(), experiment.state) == (
        f"Experiment {experiment.pk}: cancelled.\n",
        ExperimentState.CANCELLED,
    )
    assert "Cancelled by the command line" in shown
    assert 0 < experiment.tries.count() < 100
    assert not Process.objects.filter(state=ProcessState.ACTIVE).exists()
    with pytest.raises(CommandError, match="is cancelled already"):
        call_command("crawl", "cancel-experiment", str(experiment.pk))


def test_an_experiment_that_is_cancelled_at_its_last_moment_is_not_shown_as_finished(queue):
    experiment = start_experiment(browser("operator"))
    BackgroundJob.objects.update(began_at=timezone.now())
    cancel_job(experiment.job, by=None)

    assert not end_job(experiment.job, {})

    experiment.refresh_from_db()
    assert experiment.state == ExperimentState.CANCELLED


def test_a_test_fetch_at_work_ends_though_the_server_does_not_answer(
    place, queue, pool, loopback, make_site
):
    ada, over = browser("operator"), Event()
    site = make_site({"/": lambda request: (200, {}, str(over.wait(60)))})
    order = {"name": "slow", "seeds": [f"{site.url}/"]}
    with at_work(place) as worker:
        path = "/api/v1/drafts/test-fetches"
        asked = ada.post(path, json.dumps(order), content_type="application/json")
        assert asked.status_code == 202, asked.content
        wait_until(lambda: "/" in site.paths)
        began = time.monotonic()
        told = ada.post(f"/api/v1/inquiries/{asked.json()['id']}/cancel")
        wait_until(lambda: work_process_of(worker) is None)
        took = time.monotonic() - began
        wait_until(lambda: jobs_in_redis() == [])
        over.set()
    assert (told.status_code, told.json()["state"]) == (200, "cancelled")
    assert took < SECONDS
    assert units_held() == 0
    inquiry = Inquiry.objects.get()
    assert (inquiry.state, inquiry.cancelled_by.username) == ("cancelled", "operator")
    assert "Cancelled by operator" in soup(ada.get(f"/crawls/test-fetch/{inquiry.pk}/")).text

"""Abort cuts fetches off; stop lets them end."""

from __future__ import annotations

import threading

import pytest

from allocation.models import Conservation, Process
from crawling.base.errors import WrongState
from crawling.fetching.shift import ending_policy, work
from crawling.fetching.shift.workbench import Workbench
from crawling.models import Host, Page, RunProcess, Shift, Url
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.shift_lifecycle import begin_shift, end_shift, settle_run
from crawling.runs.start import start_run
from crawling.runs.steering import abort, stop
from crawling.runs.waiting_urls import retry_failed
from crawling.web.fetch.adapter import PinnedSession
from crawling.web.statuses import FetchStatus
from tests.crawling.acting import acting
from tests.crawling.archive.judging import files_of
from tests.crawling.raw import OK, get, read_request, serve_raw
from tests.servers import make_certificate, require_openssl, serve_site, tls_context


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setattr(work, "LOOK_SECONDS", 0.1)


@pytest.fixture
def no_more(monkeypatch):
    """Set once a shift hands out nothing more."""
    event, close = threading.Event(), Workbench.close

    def closed(bench):
        close(bench)
        event.set()

    monkeypatch.setattr(Workbench, "close", closed)
    return event


def states(run):
    return dict(Url.objects.filter(run=run).values_list("url", "state"))


@pytest.mark.parametrize("is_stopping", [False, True])
def test_abort_cuts_off_what_is_being_fetched_and_leaves_nothing_behind(
    order, work_off, no_more, is_stopping
):
    """The page that is cut off says nothing of its length, so that its end looks like any other."""
    hung_up = threading.Event()

    def abort_it():
        if is_stopping:
            stop(run.crawl)
            assert no_more.wait(10)
        abort(run.crawl)

    def talk(connection):
        while path := read_request(connection):
            if path == b"/robots.txt":
                connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            elif path == b"/":
                connection.sendall(
                    OK
                    + b"Content-Type: text/html\r\nContent-Length: 20\r\n\r\n<a href='/big'>x</a>"
                )
            else:
                connection.sendall(
                    OK + b"Content-Type: text/html\r\n\r\n<a href='/more'>half of it"
                )
                acting(abort_it)(None)
                connection.recv(1)
                hung_up.set()
                return

    with serve_raw(talk) as (url, _):
        run = start_run(create_crawl(order(url, read_seconds=60)))
        work_off(run)

        assert hung_up.is_set()
    assert (
        run.reason
        == "Aborted by an operator; its pages and its queue are kept, and what was being fetched "
        "counts for nothing."
    )
    assert (run.state, states(run)) == ("stopped", {url: "s", f"{url}big": "q"})
    assert Url.objects.get(url=f"{url}big").attempts == 0
    assert Page.objects.filter(run=run).count() == 1
    assert not Process.objects.filter(holding=True).exists()
    assert not Host.objects.exclude(shift=None).exists()
    assert not [row for row in Conservation.objects.all() if row.difference or row.ungranted]
    assert [file.path.stat().st_size - file.committed_length for file in files_of(run)] == [0]
    assert Shift.objects.get(process__run=run).ending == "an operator aborted the run"


def test_stop_lets_what_is_being_fetched_end_however_little_time_other_ends_give(
    order, work_off, make_site, no_more, monkeypatch
):
    monkeypatch.setattr(ending_policy, "JOIN_SECONDS", 0.0)

    def page(request):
        acting(lambda: stop(run.crawl))(request)
        assert no_more.wait(10)
        return 200, {"Content-Type": "text/html"}, "x"

    site = make_site({"/": page})
    run = start_run(create_crawl(order(f"{site.url}/")))
    work_off(run)

    assert (run.state, states(run)) == ("stopped", {f"{site.url}/": "s"})


def test_a_run_is_aborted_once_and_goes_on_unhurried_when_something_of_it_is_tried_again(order):
    run = start_run(create_crawl(order("http://127.0.0.1:8900/")))
    process = RunProcess.objects.get(run=run)
    shift = begin_shift(process, epoch=1, worker="w")
    Url.objects.filter(run=run).update(state="f")

    assert abort(run.crawl).reason == "Cutting off the fetches under way."
    with pytest.raises(WrongState, match="is being aborted already"):
        abort(run.crawl)
    end_shift(shift, "aborted")
    assert settle_run(run.pk).state == "stopped"
    retry_failed(run.crawl)
    assert stop(run.crawl).reason == "Stopped by an operator; its pages and its queue are kept."


def test_a_session_is_cut_off_below_tls_too_and_fetches_nothing_any_more(tmp_path):
    require_openssl()
    certificate, asked = make_certificate(tmp_path, "site.test"), threading.Event()

    def page(request):
        session.end_transfers()
        asked.wait(20)
        return 200, {}, "too late"

    with (
        serve_site({"/": page}, tls=tls_context(certificate)) as site,
        PinnedSession(authorities=str(certificate), read_seconds=60) as session,
    ):
        url = f"https://site.test:{site.port}/"
        cut, after = get(url, session=session), get(url, session=session)
        asked.set()

    assert (cut.status, after.status) == (FetchStatus.BROKEN_ANSWER, FetchStatus.BROKEN_ANSWER)
    assert len(site.log) == 1

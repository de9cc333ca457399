"""Deleting a crawl: all of it, nothing else, and never by accident."""

from __future__ import annotations

import psycopg
import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import call_command
from django.db import connection
from django.urls import reverse

from allocation.models import Event, Process
from crawling.crawls.creation import create_crawl, start_run
from crawling.crawls.schedules import set_schedule
from crawling.errors import WrongState
from crawling.housekeeping import run_removal
from crawling.housekeeping.deletion import ask_deletion, delete_crawl
from crawling.models import (
    CrawlJob,
    Host,
    HostQueue,
    LogLine,
    Page,
    Run,
    RunCount,
    RunProcess,
    Schedule,
    Shift,
    Url,
)
from tests.crawling.pages import browser
from tests.stack import SCHEDULER, running_stack, wait_until

ROWS = (Page, Url, HostQueue, RunCount, LogLine, Shift, RunProcess, Run, CrawlJob)


def rows():
    return {model.__name__: getattr(model, "all_objects", model.objects).count() for model in ROWS}


def test_delete_takes_every_row_of_the_crawl_and_none_of_another(make_site, crawl_to_the_end):
    site = make_site({"/": '<a href="/a">a</a>', "/a": "x"})
    crawl_to_the_end(f"{site.url}/", name="stays")
    before = rows()
    goes = crawl_to_the_end(f"{site.url}/", name="goes").crawl
    assert all(count > before[name] for name, count in rows().items())

    delete_crawl(goes, by=None, for_good=True)

    assert rows() == before
    assert CrawlJob.objects.get().name == "stays"
    assert Host.objects.count() == 1


def test_from_the_first_moment_nobody_sees_it_and_its_name_is_free(
    make_site, crawl_to_the_end, order, monkeypatch
):
    site = make_site({"/": '<title>Lost</title><a href="/a">a</a>', "/a": "x"})
    goes = crawl_to_the_end(f"{site.url}/", name="goes").crawl
    set_schedule(goes, {"every_minutes": 5}, by=None)
    monkeypatch.setattr(run_removal, "SLICE", 1)
    url = Url.objects.earliest("pk").pk

    ask_deletion(goes, by=None, for_good=True)
    run_removal.remove_rows(seconds=0)

    operator, left = browser("operator"), rows()
    assert (left["Url"] > 0, left["CrawlJob"]) == (True, 1)
    assert operator.get("/api/v1/crawls").json()["items"] == []
    assert operator.get("/api/v1/pages?q=Lost").json()["items"] == []
    addresses = [
        reverse("crawling:crawl", args=[goes.pk]),
        reverse("crawling:page", args=[goes.pk, url]),
        f"/api/v1/crawls/{goes.pk}",
    ]
    assert {operator.get(address).status_code for address in addresses} == {404}
    assert Schedule.objects.get().next_at is None
    assert create_crawl(order(f"{site.url}/", name="goes")).pk != goes.pk


def test_deleting_again_is_nothing_new_and_the_scheduler_goes_on_to_the_end(
    make_site, crawl_to_the_end, monkeypatch
):
    goes = crawl_to_the_end(f"{make_site({'/': 'x'}).url}/", name="goes").crawl
    monkeypatch.setattr(run_removal, "SLICE", 1)

    for _ in range(2):
        ask_deletion(goes, by=None, for_good=True)
    rounds = 0
    while not run_removal.remove_rows(seconds=0):
        rounds += 1

    assert rounds > 3
    assert set(rows().values()) == {0}
    assert LogEntry.objects.filter(change_message__contains='"deleted"').count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_deletion_whose_process_is_killed_in_the_middle_is_brought_to_its_end(
    make_site, crawl_to_the_end, tmp_path
):
    site = make_site({"/": '<a href="/a">a</a>', "/a": "x"})
    stays = crawl_to_the_end(f"{site.url}/", name="stays")
    before = rows()
    run = crawl_to_the_end(f"{site.url}/", name="goes")
    files = [file.path for file in run.archive_files.all()]

    with running_stack(tmp_path) as stack:
        with psycopg.connect(**connection.get_connection_params()) as other:
            other.execute("SELECT FROM crawling_hostqueue WHERE run_id = %s FOR UPDATE", [run.pk])
            deleting = stack.start(["crawl", "delete", "goes", "--for-good"])
            wait_until(lambda: not Url.objects.filter(run=run).exists())
            deleting.kill()
            deleting.wait()
            assert HostQueue.objects.filter(run=run).exists()
            assert list(CrawlJob.objects.all()) == [stays.crawl]
        stack.start(SCHEDULER)
        wait_until(lambda: rows() == before, seconds=60)
        wait_until(lambda: not any(path.exists() for path in files))


def test_the_command_line_deletes(make_site, crawl_to_the_end, capsys):
    crawl_to_the_end(f"{make_site({'/': 'x'}).url}/", name="goes")

    call_command("crawl", "delete", "goes", "--for-good")

    assert "goes is deleted" in capsys.readouterr().out
    assert set(rows().values()) == {0}


def test_delete_leaves_the_banks_ledger_and_the_audit_row(
    make_site, crawl_to_the_end, django_user_model
):
    chief = django_user_model.objects.create_user("chief")
    crawl = crawl_to_the_end(f"{make_site({'/': 'x'}).url}/", name="goes").crawl
    events = Event.objects.count()

    delete_crawl(crawl, by=chief, for_good=True)

    assert Process.objects.get().label == "goes"
    assert Event.objects.count() >= events
    entry = LogEntry.objects.latest("pk")
    assert (entry.user, entry.object_repr) == (chief, "goes")
    assert '"deleted"' in entry.change_message


def test_delete_keeps_a_host_quiet_that_a_lost_shift_had_leased(make_site, crawl_to_the_end):
    run = crawl_to_the_end(f"{make_site({'/': 'x'}).url}/")
    shift = Shift.objects.latest("pk")
    Host.objects.update(shift=shift, lease_until="2100-01-01T00:00Z", delay_seconds=5)

    delete_crawl(run.crawl, by=None, for_good=True)

    host = Host.objects.get()
    assert (host.shift, host.due_at.isoformat()) == (None, "2100-01-01T00:00:05+00:00")


def test_delete_refuses_a_crawl_at_work_and_says_what_to_do(order):
    crawl = create_crawl(order("http://127.0.0.1:8900/", name="busy"))
    start_run(crawl)
    before = rows()

    with pytest.raises(WrongState, match="busy is queued; stop it"):
        delete_crawl(crawl, by=None, for_good=True)
    assert rows() == before


def test_the_page_says_what_goes_and_for_how_long_it_can_be_restored(make_site, crawl_to_the_end):
    crawl = crawl_to_the_end(f"{make_site({'/': 'x'}).url}/", name="a <crawl>").crawl
    operator, address = browser("operator"), reverse("crawling:delete", args=[crawl.pk])

    page = operator.get(address).content.decode()
    assert "a &lt;crawl&gt;" in page
    assert "1 run" in page

    assert "For 24 hours it can be restored" in page
    assert CrawlJob.objects.exists()

    assert operator.post(address).url == reverse("crawling:crawls")
    assert not CrawlJob.objects.exists()
    assert Page.objects.exists()


def test_the_page_of_a_crawl_at_work_offers_no_deletion(order):
    crawl = create_crawl(order("http://127.0.0.1:8900/", name="busy"))
    start_run(crawl)
    operator, address = browser("operator"), reverse("crawling:delete", args=[crawl.pk])

    assert "stop it" in operator.get(address).content.decode()
    assert "stop it" in operator.post(address, {"name": "busy"}).content.decode()
    assert CrawlJob.objects.exists()


def test_a_viewer_cannot_delete(order):
    crawl = create_crawl(order("http://127.0.0.1:8900/"))
    viewer, address = browser("viewer"), reverse("crawling:delete", args=[crawl.pk])

    assert viewer.get(address).status_code == 403
    assert viewer.post(address, {"name": crawl.name}).status_code == 403
    assert CrawlJob.objects.exists()

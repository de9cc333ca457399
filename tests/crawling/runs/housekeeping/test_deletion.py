"""Deleting a crawl: all of it, nothing else, and never by accident."""

from __future__ import annotations

import json
from datetime import timedelta

import psycopg
import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import call_command
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from allocation.models import Event, Process
from crawling.base.errors import NotFound, WrongState
from crawling.dashboard.base import recently_deleted
from crawling.dashboard.base.recently_deleted import deleted_rows, restore
from crawling.models import (
    BlocklistEntry,
    CrawlJob,
    DeletedItem,
    Host,
    HostQueue,
    LogLine,
    OrderTemplate,
    Page,
    Run,
    RunCount,
    RunProcess,
    SavedView,
    Schedule,
    Shift,
    Url,
)
from crawling.models.deleted import RESTORABLE
from crawling.runs.crawls.blocklist import add_entry, remove_entry
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.deleted_items import forget_deleted
from crawling.runs.crawls.saved_views import forget_view, save_view
from crawling.runs.crawls.schedules import remove_schedule, set_schedule
from crawling.runs.crawls.templates import remove_template, save_template
from crawling.runs.housekeeping import run_removal
from crawling.runs.housekeeping.deletion import (
    delete_crawl,
    remove_run_now,
    request_deletion,
    restore_crawl,
    restore_run,
)
from crawling.runs.housekeeping.run_removal import remove_rows, remove_run
from crawling.runs.start import start_run
from crawling.runs.steering import resume, stop
from tests.crawling.conftest import do_shifts
from tests.crawling.frontier.test_unchanged import HOME, versioned
from tests.crawling.pages import browser, soup
from tests.stack import SCHEDULER, running_stack, wait_until

ROWS = (Page, Url, HostQueue, RunCount, LogLine, Shift, RunProcess, Run, CrawlJob)
DELETED = reverse("crawling:deleted")


def rows():
    return {model.__name__: getattr(model, "all_objects", model.objects).count() for model in ROWS}


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    site = shared.serve({"/": '<title>Lost</title><a href="/a">a</a>', "/a": "x"})
    first = crawl_once(f"{site.url}/", name="Manuals")
    shared.do(lambda: do_shifts(start_run(first.crawl)))
    return first.crawl


@pytest.fixture
def crawl(crawled, db):
    """A crawl with two runs."""
    return CrawlJob.objects.get(pk=crawled.pk)


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


def test_from_the_first_moment_nobody_sees_it_and_its_name_is_free(crawl, order, monkeypatch):
    set_schedule(crawl, {"every_minutes": 5}, by=None)
    monkeypatch.setattr(run_removal, "SLICE", 1)
    url = Url.objects.earliest("pk").pk

    request_deletion(crawl, by=None, for_good=True)
    run_removal.remove_rows(seconds=0)

    operator, left = browser("operator"), rows()
    assert (left["Url"] > 0, left["CrawlJob"]) == (True, 1)
    assert operator.get("/api/v1/crawls").json()["items"] == []
    assert operator.get("/api/v1/pages?q=Lost").json()["items"] == []
    addresses = [
        reverse("crawling:crawl", args=[crawl.pk]),
        reverse("crawling:page", args=[crawl.pk, url]),
        f"/api/v1/crawls/{crawl.pk}",
    ]
    assert {operator.get(address).status_code for address in addresses} == {404}
    assert Schedule.objects.get().next_at is None
    assert create_crawl(order("http://127.0.0.1:8900/", name="Manuals")).pk != crawl.pk


def test_deleting_again_is_nothing_new_and_the_scheduler_goes_on_to_the_end(crawl, monkeypatch):
    monkeypatch.setattr(run_removal, "SLICE", 1)

    for _ in range(2):
        request_deletion(crawl, by=None, for_good=True)
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
        wait_until(lambda: rows() == before)
        wait_until(lambda: not any(path.exists() for path in files))


def test_the_command_line_deletes(crawl, capsys):
    call_command("crawl", "delete", "Manuals", "--for-good")

    assert "Manuals is deleted" in capsys.readouterr().out
    assert set(rows().values()) == {0}


def test_delete_leaves_the_banks_ledger_and_the_audit_row(crawl, django_user_model):
    chief = django_user_model.objects.create_user("chief")
    events, processes = Event.objects.count(), Process.objects.count()

    delete_crawl(crawl, by=chief, for_good=True)

    labels = set(Process.objects.values_list("label", flat=True))
    assert labels == {"Manuals", "Manuals (run 2)"}
    assert Process.objects.count() == processes
    assert Event.objects.count() >= events
    entry = LogEntry.objects.latest("pk")
    assert (entry.user, entry.object_repr) == (chief, "Manuals")
    assert '"deleted"' in entry.change_message


def test_delete_keeps_a_host_quiet_that_a_lost_shift_had_leased(crawl):
    shift = Shift.objects.latest("pk")
    Host.objects.update(shift=shift, lease_until="2100-01-01T00:00Z", delay_seconds=5)

    delete_crawl(crawl, by=None, for_good=True)

    host = Host.objects.get()
    assert (host.shift, host.due_at.isoformat()) == (None, "2100-01-01T00:00:05+00:00")


def test_delete_refuses_a_crawl_at_work_and_says_what_to_do(order):
    crawl = create_crawl(order("http://127.0.0.1:8900/", name="busy"))
    start_run(crawl)
    before = rows()

    with pytest.raises(WrongState, match="busy is queued; stop it"):
        delete_crawl(crawl, by=None, for_good=True)
    assert rows() == before


def test_the_page_says_what_goes_and_for_how_long_it_can_be_restored(crawl):
    CrawlJob.objects.update(name="a <crawl>")
    operator, address = browser("operator"), reverse("crawling:delete", args=[crawl.pk])

    page = operator.get(address).content.decode()
    assert "a &lt;crawl&gt;" in page
    assert "2 runs" in page
    assert "For 24 hours it can be restored" in page
    assert CrawlJob.objects.exists()

    assert operator.post(address).url == reverse("crawling:crawls")
    assert not CrawlJob.objects.exists()
    assert Page.objects.exists()


def test_a_button_deletes_at_once_and_leads_back_to_where_it_was(crawl):
    operator, address = browser("operator"), reverse("crawling:delete", args=[crawl.pk])
    own, found = reverse("crawling:crawl", args=[crawl.pk]), "/crawls/?q=Manuals"
    assert soup(operator.get(own)).select_one(f"[formaction='{address}']")
    assert soup(operator.get(found)).select_one(f"[formaction='{address}']")

    for sent_from, led_to in ((own, "/crawls/"), (found, found), ("//a.test/", "/crawls/")):
        answer = operator.post(address, {"next": sent_from}, follow=True)
        assert answer.redirect_chain == [(led_to, 302)]
        message = soup(answer).select_one(".message.flash")
        assert message.select_one("a")["href"] == DELETED
        operator.post(message.button["formaction"], {"next": "/"}, follow=True)
        assert CrawlJob.objects.get() == crawl


def test_the_page_of_a_crawl_at_work_offers_no_deletion(order):
    crawl = create_crawl(order("http://127.0.0.1:8900/", name="busy"))
    start_run(crawl)
    operator, address = browser("operator"), reverse("crawling:delete", args=[crawl.pk])

    assert "stop it" in operator.get(address).content.decode()
    assert "stop it" in operator.post(address, {"name": "busy"}).content.decode()
    assert CrawlJob.objects.filter(pk=crawl.pk).exists()


def test_a_viewer_cannot_delete(order):
    crawl = create_crawl(order("http://127.0.0.1:8900/"))
    viewer, address = browser("viewer"), reverse("crawling:delete", args=[crawl.pk])

    assert viewer.get(address).status_code == 403
    assert viewer.post(address, {"name": crawl.name}).status_code == 403
    assert CrawlJob.objects.filter(pk=crawl.pk).exists()


def a_day_later():
    """Let the time be over in which what is deleted can be restored."""
    past = timezone.now() - RESTORABLE - timedelta(seconds=1)
    for model in (CrawlJob, Run):
        model.all_objects.exclude(restorable_until=None).update(restorable_until=past)
    DeletedItem.objects.update(deleted_at=past)


def test_a_restored_crawl_has_every_row_and_its_schedule_again(crawl):
    set_schedule(crawl, {"every_minutes": 60}, by=None)
    before = rows()
    delete_crawl(crawl, by=None)
    assert remove_rows(seconds=60)
    assert not CrawlJob.objects.exists()

    restore_crawl(crawl.pk, by=None)

    assert rows() == before
    assert CrawlJob.objects.get().restorable_until is None
    assert Run.objects.get(is_latest=True).number == 2
    assert Schedule.objects.get().next_at > timezone.now()
    done = [json.loads(row.change_message)["action"] for row in LogEntry.objects.order_by("pk")]
    assert done[-2:] == ["deleted", "restored"]


def test_a_run_that_was_deleted_before_its_crawl_stays_deleted(crawl):
    remove_run(crawl.runs.get(number=1), by=None)
    delete_crawl(crawl, by=None)

    restore_crawl(crawl.pk, by=None)

    assert list(Run.objects.values_list("number", flat=True)) == [2]
    assert [(row.kind, row.name) for row in deleted_rows(None)] == [("run", "Manuals run 1")]


def test_after_a_day_it_is_gone(crawl):
    delete_crawl(crawl, by=None)
    a_day_later()

    with pytest.raises(NotFound):
        restore_crawl(crawl.pk, by=None)
    assert remove_rows(seconds=60)
    assert set(rows().values()) == {0}


def test_its_name_may_be_taken_meanwhile_and_then_it_stays_deleted(crawl, order):
    delete_crawl(crawl, by=None)
    create_crawl(order("http://127.0.0.1:8900/", name="Manuals"))

    with pytest.raises(WrongState, match="a crawl named 'Manuals' again"):
        restore_crawl(crawl.pk, by=None)

    assert CrawlJob.objects.count() == 1
    assert Run.objects.count() == 0


def test_a_restored_run_is_the_latest_again_and_can_be_resumed(order, crawl):
    run = start_run(crawl)
    stop(crawl)
    remove_run(run, by=None)
    assert Run.objects.get(is_latest=True).number == 2

    restore_run(run.pk, by=None)

    assert Run.objects.get(is_latest=True).number == 3
    assert resume(crawl).state == "queued"
    assert Url.objects.filter(run=run, state="q").exists()


@pytest.fixture
def unchanged(make_site, crawl_to_the_end, work_off):
    """Two runs, of which the second has its pages in the archive of the first."""
    site = make_site({"/": versioned(HOME, '"1"'), "/a": versioned("old", '"a"'), "/b": "no tag"})
    first = crawl_to_the_end(f"{site.url}/", name="Manuals")
    return first, work_off(start_run(first.crawl))


def test_a_run_comes_back_only_with_those_in_whose_archive_it_has_pages(unchanged):
    first, second = unchanged
    remove_run(second, by=None)
    remove_run(first, by=None)

    with pytest.raises(WrongState, match="archive of run 1; restore that one first"):
        restore_run(second.pk, by=None)
    with pytest.raises(WrongState, match="Run 2, which can be restored, has payloads"):
        remove_run_now(first.pk, name="Manuals run 1", by=None)
    restore_run(first.pk, by=None)
    restore_run(second.pk, by=None)

    assert Run.objects.count() == 2


def test_what_is_deleted_for_good_is_named_and_gone_at_once(crawl):
    operator = browser("operator")
    operator.post(reverse("crawling:delete", args=[crawl.pk]))
    page = soup(operator.get(DELETED))
    assert next(page.select_one("tbody th").stripped_strings) == "Manuals"
    address = page.select_one("td.actions a")["href"]

    refused = soup(operator.post(address, {"name": "manuals"}))
    assert "give its name: Manuals" in refused.find(role="alert").get_text()
    assert Page.objects.exists()
    operator.post(address, {"name": "Manuals"})

    assert set(rows().values()) == {0}
    assert "Nothing was deleted" in operator.get(DELETED).content.decode()


def test_the_page_restores(crawl):
    operator, viewer = browser("operator"), browser("viewer")
    operator.post(reverse("crawling:delete", args=[crawl.pk]))

    address = soup(operator.get(DELETED)).select_one("td.actions button")["formaction"]
    assert not soup(viewer.get(DELETED)).select("td.actions button")
    assert viewer.post(address).status_code == 403
    assert "Manuals is restored" in operator.post(address, follow=True).content.decode()
    assert CrawlJob.objects.get() == crawl
    assert operator.post(address).status_code == 404


def test_json_lists_restores_and_deletes_for_good(crawl):
    operator, viewer = browser("operator"), browser("viewer")
    assert operator.delete(f"/api/v1/crawls/{crawl.pk}").status_code == 204
    (row,) = operator.get("/api/v1/deleted").json()["items"]
    here = f"/api/v1/deleted/crawl/{crawl.pk}"

    assert (row["kind"], row["id"], row["name"]) == ("crawl", crawl.pk, "Manuals")
    assert viewer.post(f"{here}/restore").status_code == 403
    assert operator.post(f"{here}/restore").json() == {"kind": "crawl", "name": "Manuals"}
    assert operator.post(f"{here}/restore").status_code == 404
    operator.delete(f"/api/v1/crawls/{crawl.pk}")
    assert operator.delete(f"{here}?name=other").status_code == 409
    assert operator.delete(f"{here}?name=Manuals").status_code == 204
    assert set(rows().values()) == {0}


@pytest.fixture
def small_things(order, django_user_model):
    """Of each small kind one that was deleted, and its user."""
    user = browser("operator") and django_user_model.objects.get(username="operator")
    job = create_crawl(order("http://127.0.0.1:8900/", name="Small", max_pages=7))
    set_schedule(job, {"cron": "30 2 * * *"}, by=user)
    remove_template(save_template(job, "Weekly", by=user), by=user)
    forget_view(user, save_view(user, "Failed", "state=failed").pk)
    remove_schedule(job, by=user)
    remove_entry(add_entry("host", "a.test", "asked for", by=user).pk, by=user)
    return user


def test_templates_views_schedules_and_blocked_hosts_come_back(small_things):
    for row in deleted_rows(small_things):
        restore(row.kind, row.id, by=None if row.kind == "blocklist" else small_things)

    assert OrderTemplate.objects.get().order["max_pages"] == 7
    assert SavedView.objects.get().query == "state=failed"
    assert Schedule.objects.get().timing["cron"] == "30 2 * * *"
    assert BlocklistEntry.objects.get(removed_at=None).text == "a.test"
    assert deleted_rows(small_things) == []


def test_an_item_comes_back_however_many_were_deleted_after_it(small_things, order, monkeypatch):
    rows = {row.kind: row.id for row in deleted_rows(small_things)}
    first = create_crawl(order("http://127.0.0.1:8900/", name="First"))
    for crawl in (first, create_crawl(order("http://127.0.0.1:8900/", name="Second"))):
        delete_crawl(crawl, by=None)
    monkeypatch.setattr(recently_deleted, "SHOWN", 1)
    assert len(deleted_rows(small_things)) == 2

    restore("crawl", first.pk, by=None)
    restore("template", rows["template"], by=small_things)

    assert CrawlJob.objects.filter(pk=first.pk).exists()
    assert OrderTemplate.objects.get().name == "Weekly"


def test_a_view_is_shown_to_its_user_alone(small_things, django_user_model):
    browser("administrator")
    other = django_user_model.objects.get(username="administrator")
    kinds = {row.kind: row.id for row in deleted_rows(small_things)}

    assert {row.kind for row in deleted_rows(other)} == {"template", "schedule", "blocklist"}
    with pytest.raises(NotFound):
        restore("view", kinds["view"], by=other)


def test_what_has_taken_its_place_is_not_overwritten(small_things):
    save_view(small_things, "Failed", "state=stopped")
    (view,) = [row for row in deleted_rows(small_things) if row.kind == "view"]

    with pytest.raises(WrongState, match="a view named 'Failed' again"):
        restore("view", view.id, by=small_things)

    assert SavedView.objects.get().query == "state=stopped"
    assert DeletedItem.objects.filter(pk=view.id).exists()


def test_small_things_are_forgotten_after_a_day(small_things):
    forget_deleted()
    assert DeletedItem.objects.count() == 4
    a_day_later()
    assert deleted_rows(small_things) == []

    forget_deleted()

    assert not DeletedItem.objects.exists()

"""Actions on many crawls at once: told before, counted with what was refused and why, and taken
back by the button of the message.
"""

from __future__ import annotations

import json
from io import BytesIO, StringIO
from zipfile import ZipFile

import pytest
from django.contrib.auth.models import User
from django.core import signing
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from crawling.models import CrawlJob, Run, RunTotal, Schedule
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.schedules import set_schedule
from crawling.runs.start import start_run
from tests.crawling.pages import browser, soup

LIST, BULK, UNDO = reverse("crawling:crawls"), reverse("crawling:bulk"), reverse("crawling:undo")
NIGHTLY = {"repeat": "day", "at": "02:30", "time_zone": "UTC", "is_on": "on"}


@pytest.fixture
def operator(db):
    return browser("operator")


@pytest.fixture
def crawls(order):
    """A draft, one that has ended with two pages and a file-less run, and one that is queued."""
    draft, ended, queued = (
        create_crawl(order("http://127.0.0.1:8900/", name=name))
        for name in ("Draft", "Ended", "Queued")
    )
    run = Run.objects.create(crawl=ended, number=1, state="finished", is_latest=True)
    RunTotal.objects.filter(run=run).delete()
    RunTotal.objects.create(run=run, fetched=2, discovered=2)
    start_run(queued)
    return draft, ended, queued


def ask(client, action, crawls, **more):
    ids = [crawl.pk for crawl in crawls]
    return client.post(BULK, {"action": action, "crawl": ids, "next": LIST, **more})


def confirm(client, action, crawls, **more):
    """The list, once it is confirmed."""
    return soup(ask(client, action, crawls, confirmed="yes", **more).client.get(LIST))


def schedule(client, crawls, **answers):
    ids = [crawl.pk for crawl in crawls]
    answers |= {"crawl": ids, "over_minutes": "0", "save": "1", "next": LIST}
    return soup(client.post(reverse("crawling:schedule-many"), answers, follow=True))


def told(page):
    return [one.get_text(" ", strip=True) for one in page.select(".message.flash")]


def press(client, page):
    """Press the button of the message, and return the list."""
    button = page.select_one(".message.flash button")
    fields = {"acts": button["value"], "next": LIST}
    return soup(client.post(button["formaction"], fields, follow=True))


def states(*crawls):
    latest = Run.objects.filter(is_latest=True, crawl__in=crawls)
    return dict(latest.values_list("crawl__name", "state"))


def test_a_page_says_what_becomes_of_how_many_and_why_not_of_the_others(operator, crawls):
    page = soup(ask(operator, "delete", crawls)).main

    words = page.get_text(" ", strip=True)
    assert page.h1.get_text() == "Delete 2 crawls"
    assert "1: queued; only a draft or a crawl that has ended can be deleted." in words
    assert (
        "For 24 hours they can be restored. After that they are gone with 1 run, 2 pages" in words
    )
    assert CrawlJob.objects.count() == 3


def test_deleted_crawls_come_back_by_the_button_of_the_message(operator, crawls):
    after = confirm(operator, "delete", crawls)

    assert told(after)[0].startswith("2 crawls are deleted.")
    assert "Queued is queued; stop it" in told(after)[1]
    assert [crawl.name for crawl in CrawlJob.objects.all()] == ["Queued"]
    back = press(operator, after)
    assert told(back) == ["Undone: 2 crawls are restored."]
    assert CrawlJob.objects.count() == 3
    assert states(*crawls)["Ended"] == "finished"


def test_many_crawls_are_run_again_and_stopped_again(operator, crawls):
    draft, ended, _ = crawls

    after = confirm(operator, "start", crawls)

    assert told(after)[0] == "2 crawls are started. Stop them"
    assert set(states(draft, ended).values()) == {"queued"}
    press(operator, after)
    assert set(states(draft, ended).values()) == {"stopped"}


def test_crawls_that_were_paused_by_mistake_continue(operator, crawls):
    after = confirm(operator, "pause", crawls[2:])
    assert states(crawls[2]) == {"Queued": "paused"}

    back = press(operator, after)

    assert told(back) == ["Undone: 1 crawl is resumed."]
    assert states(crawls[2]) == {"Queued": "queued"}


def test_tags_of_many_are_taken_back_from_those_alone_that_did_not_have_them(operator, order):
    tagged = create_crawl(order("http://127.0.0.1:8900/", name="Tagged"))
    plain = create_crawl(order("http://127.0.0.1:8900/", name="Plain"))
    CrawlJob.objects.filter(pk=tagged.pk).update(tags=["maps"])
    tagged.refresh_from_db()

    after = confirm(operator, "tag", (tagged, plain), tags="maps, weekly")
    assert dict(CrawlJob.objects.values_list("name", "tags")) == {
        "Tagged": ["maps", "weekly"],
        "Plain": ["maps", "weekly"],
    }
    button = after.select_one(".message.flash button")
    operator.post(UNDO, {"acts": button["value"], "next": LIST})

    assert dict(CrawlJob.objects.values_list("name", "tags")) == {"Tagged": ["maps"], "Plain": []}


def test_many_are_scheduled_at_once_and_get_back_what_they_had(operator, crawls):
    draft, ended, _ = crawls
    set_schedule(ended, {"every_minutes": 60})

    page = soup(ask(operator, "schedule", (draft, ended)))
    assert len(page.select("[name=crawl][checked]")) == 2
    assert [small.get_text() for small in page.select(".choosable small")] == ["Every hour"]
    after = schedule(operator, (draft, ended), **NIGHTLY)

    assert {one.timing["cron"] for one in Schedule.objects.all()} == {"30 2 * * *"}
    assert told(after)[0].startswith("2 crawls are scheduled.")
    press(operator, after)
    assert [one.timing["every_minutes"] for one in Schedule.objects.all()] == [60]


def test_a_wrong_schedule_is_told_beside_its_field_and_sets_none(operator, crawls):
    page = schedule(operator, crawls, repeat="cron", cron="every monday", is_on="on")

    assert "needs five fields" in page.select_one(".field .error").get_text().lower()
    assert not Schedule.objects.exists()


def test_the_page_and_the_filter_are_chosen_without_a_tick(operator, crawls):
    shown = [field["value"] for field in soup(operator.get(LIST)).select("input[name=shown]")]

    of_page = operator.post(BULK, {"action": "tag", "which": "page", "shown": shown[:2]})
    of_filter = operator.post(BULK, {"action": "tag", "which": "all", "next": f"{LIST}?q=draft"})

    assert soup(of_page).h1.get_text() == "Add tags to 2 crawls"
    assert soup(of_filter).h1.get_text() == "Add tags to 1 crawl"


def test_an_export_has_the_list_and_orders_that_make_the_crawls_anew(operator, order, tmp_path):
    crawl = create_crawl(order("http://127.0.0.1:8900/", name="Town/library", max_pages=7))

    answer = ask(operator, "export", [crawl], confirmed="yes")

    assert answer["Content-Disposition"] == 'attachment; filename="crawls.zip"'
    bundle = ZipFile(BytesIO(b"".join(answer.streaming_content)))
    assert bundle.namelist() == [
        "crawls.csv",
        "crawls.jsonl",
        f"orders/{crawl.pk}-Town-library.json",
    ]
    assert json.loads(bundle.read("crawls.jsonl"))["name"] == "Town/library"
    made = json.loads(bundle.read(bundle.namelist()[2]))
    again = create_crawl({**made, "name": "Again"})
    assert (again.max_pages, again.seeds) == (7, crawl.seeds)


def test_a_button_of_another_user_or_a_forged_one_undoes_nothing(operator, crawls):
    other = User.objects.create_user("other")
    acts = [{"action": "delete", "crawls": [crawls[0].pk]}]
    for signed in (
        signing.dumps([other.pk, acts], salt="undo", compress=True),
        signing.dumps([1, acts], salt="another", compress=True),
        "forged",
    ):
        page = soup(operator.post(UNDO, {"acts": signed, "next": LIST}, follow=True))
        assert told(page) == ["This can be undone no more."]

    assert CrawlJob.objects.count() == 3


def test_programs_get_the_requests_that_take_an_action_back(operator, crawls):
    def call(**body):
        answer = operator.post("/api/v1/bulk-actions", body, content_type="application/json")
        return answer.json()

    ids = [crawl.pk for crawl in crawls]
    done = call(action="delete", crawls=ids)
    undone = call(**{k: v for k, v in done["undo"][0].items() if k in ("action", "crawls")})

    assert (done["changed"], len(done["refused"])) == (2, 1)
    assert (undone["changed"], undone["refused"]) == (2, [])
    assert call(action="schedule", crawls=ids, schedule={"every_minutes": 1440})["changed"] == 3
    assert "errors" in call(action="schedule", crawls=ids, schedule={"cron": "x"})
    assert "says which" in call(action="delete", filter={})["errors"]["filter"]
    exported = operator.post(
        "/api/v1/bulk-actions/export", {"filter": {"q": "draft"}}, content_type="application/json"
    )
    assert len(ZipFile(BytesIO(b"".join(exported.streaming_content))).namelist()) == 3


def test_the_command_line_acts_on_many_too(crawls, tmp_path):
    def bulk(*words):
        out = StringIO()
        call_command("crawl", "bulk", *words, stdout=out)
        return out.getvalue()

    target = tmp_path / "crawls.zip"
    assert "done to 2 of 3 crawls" in bulk("delete", "Draft", "Ended", "Queued")
    assert "done to 2 of 2 crawls" in bulk("restore", "Draft", "Ended")
    assert "done to 1 of 1 crawls" in bulk("tag", "--search", "draft", "--tags", "maps")
    assert "done to 3 of 3 crawls" in bulk(
        "schedule", "Draft", "Ended", "Queued", "--every-minutes", "1440"
    )
    assert "2 crawls are exported" in bulk("export", "Draft", "Ended", "--output", str(target))
    assert len(ZipFile(target).namelist()) == 4
    with pytest.raises(CommandError, match="say which"):
        bulk("stop")


def test_a_deleted_crawl_is_restored_where_it_was_deleted(operator, crawls):
    ended = crawls[1]

    page = soup(operator.post(reverse("crawling:delete", args=[ended.pk]), follow=True))
    back = press(operator, page)

    assert told(back) == ["Ended is restored."]
    assert back.h1.get_text() == "Crawls"
    assert CrawlJob.objects.filter(pk=ended.pk).exists()


def test_a_pause_is_taken_back_by_its_message(operator, crawls):
    queued = crawls[2]
    address = reverse("crawling:steer", args=[queued.pk, "pause"])

    page = soup(operator.post(address, {"next": LIST}, follow=True))
    message = page.select_one(".message.flash [data-about]")
    press(operator, page)

    assert (message["data-about"], message["data-while"]) == (str(queued.pk), "pausing paused")
    assert states(queued) == {"Queued": "queued"}

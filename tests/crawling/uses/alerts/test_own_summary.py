"""A user's own weekly summary: chosen on the page of preferences, about the crawls that the user
owns or that a team of the user has.
"""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from crawling.base.errors import BadOrder
from crawling.models import BackgroundJob, CrawlJob, Team
from crawling.uses.alerts.delivery import send_due_deliveries
from crawling.uses.alerts.jobs import SUMMING, write_due_summaries
from crawling.uses.alerts.listeners import choose_summary, save_listener
from crawling.uses.alerts.models import Delivery, Listener
from crawling.uses.alerts.weekly import add_due_summaries
from crawlsite.models import Preference
from tests.crawling.pages import browser, soup
from tests.crawling.uses.alerts.test_weekly import DAY, MONDAY, WISH, crawled

PREFERENCES = "/account/preferences/"


@pytest.fixture
def ada(db):
    browser("operator")  # makes the roles
    user = User.objects.create_user("ada", "ada@example.org")
    user.groups.add(Group.objects.get(name="operator"))
    return User.objects.get(pk=user.pk)


@pytest.fixture
def her_browser(ada):
    client = Client()
    client.force_login(ada)
    return client


def card(client):
    return soup(client.get(PREFERENCES)).select_one("main")


def told():
    return [json.loads(one.body) for one in Delivery.objects.order_by("pk")]


def test_it_is_chosen_and_stopped_with_one_button_each(her_browser, ada, mail_server, clock):
    clock(MONDAY - DAY)
    address = card(her_browser).select("form")[-1]["action"]

    her_browser.post(address)
    assert Listener.objects.get().user == ada
    assert "It goes to ada@example.org. The next one: Monday, 2026-11-30 07:00 UTC." in " ".join(
        card(her_browser).get_text().split()
    )

    her_browser.post(address, {"off": "1"})
    assert not Listener.objects.exists()
    assert "Send me a weekly summary" in card(her_browser).get_text()


def test_it_tells_of_own_crawls_and_those_of_teams_and_of_no_others(ada, mail_server, clock):
    Team.objects.create(name="Press").members.set([ada])
    own, of_team, other = (crawled(name, days_ago=2) for name in ("Mine", "Press's", "Other"))
    CrawlJob.objects.filter(pk=own.pk).update(created_by=ada)
    CrawlJob.objects.filter(pk=of_team.pk).update(team="Press")
    clock(MONDAY - DAY)
    choose_summary(ada)

    clock(MONDAY)
    add_due_summaries()
    add_due_summaries()
    send_due_deliveries()

    [(_, recipients, letter)] = mail_server.letters
    text = letter.get_content()
    assert recipients == ["ada@example.org"]
    assert letter["Subject"] == "[crawlsite] weekly summary: your crawls"
    assert "something changed in 2 of 2 crawls." in text
    assert ("Mine: 1 run" in text, "Press's: 1 run" in text, other.name in text) == (
        *(True, True),
        False,
    )
    assert (
        "You chose this letter under Preferences: https://crawls.example.org/account/pref" in text
    )


def test_the_letter_follows_the_address_of_the_account(ada, mail_server, clock):
    clock(MONDAY - DAY)
    choose_summary(ada)
    User.objects.filter(pk=ada.pk).update(email="ada@new.example.org")

    clock(MONDAY)
    add_due_summaries()
    send_due_deliveries()

    assert [to for _, to, _ in mail_server.letters] == [["ada@new.example.org"]]


@pytest.mark.parametrize("change", [{"is_active": False}, {"email": ""}])
def test_a_locked_account_and_one_without_an_address_are_sent_nothing(
    ada,
    mail_server,
    clock,
    change,
):
    clock(MONDAY - DAY)
    choose_summary(ada)
    clock(MONDAY)
    add_due_summaries()
    User.objects.filter(pk=ada.pk).update(**change)

    send_due_deliveries()
    clock(MONDAY + 7 * DAY)
    add_due_summaries()

    assert (mail_server.letters, Delivery.objects.count()) == ([], 1)


def test_a_user_who_may_see_no_crawls_any_more_is_told_of_none(ada, mail_server, clock):
    clock(MONDAY - DAY)
    choose_summary(ada)
    ada.groups.clear()
    clock(MONDAY)

    add_due_summaries()

    assert told() == []


def test_the_page_says_why_none_can_be_sent(her_browser, ada, settings):
    settings.EMAIL_HOST = ""
    assert "Off: this installation has no mail server (MAIL_URL)." in card(her_browser).get_text()
    assert len(card(her_browser).select("form")) == 1  # of the preferences
    with pytest.raises(BadOrder, match="no mail server"):
        choose_summary(ada)

    settings.EMAIL_HOST = "mail.example.org"
    User.objects.filter(pk=ada.pk).update(email="")
    assert "Your account has no e-mail address" in card(her_browser).get_text()
    her_browser.post(reverse("alerts:own-summary"))
    assert not Listener.objects.exists()


def test_programs_choose_it_too(her_browser, ada, mail_server, clock):
    clock(MONDAY - DAY)
    address = "/api/v1/weekly-summary"
    assert her_browser.get(address).json()["is_on"] is False

    answer = her_browser.put(address, {"is_on": True}, content_type="application/json").json()

    assert (answer["is_on"], answer["address"]) == (True, "ada@example.org")
    assert answer["next_at"] == "2026-11-30T07:00:00Z"
    her_browser.put(address, {"is_on": False}, content_type="application/json")
    assert not Listener.objects.exists()


def test_administrators_see_it_and_end_it_but_do_not_change_it(ada, mail_server):
    choose_summary(ada)
    row, administrator = Listener.objects.get(), browser("administrator")
    place = reverse("alerts:listener", args=[row.pk])

    assert "ada ada@example.org" in soup(administrator.get(reverse("alerts:listeners"))).text
    assert not soup(administrator.get(place)).select("[name=url]")
    administrator.post(place, WISH | {"url": "mailto:other@example.org", "is_on": "on"})
    row.refresh_from_db()
    assert (row.address, row.events) == ("mailto:ada@example.org", ["weekly summary"])
    shown = administrator.get(f"/api/v1/alerts/{row.pk}").json()
    assert (shown["user"], shown["url"]) == ("ada", "mailto:ada@example.org")

    administrator.post(place, {"remove": "1"})
    assert not Listener.objects.exists()


def test_the_crawls_of_a_week_are_read_once_for_all(ada, mail_server, clock):
    crawled("Library", days_ago=2)
    clock(MONDAY - DAY)
    save_listener(WISH, by=ada)

    def queries(listeners):
        Delivery.objects.all().delete()
        Listener.objects.update(week_told_at=MONDAY - DAY)
        clock(MONDAY)
        with CaptureQueriesContext(
            connection,
        ) as asked:
            assert add_due_summaries() == listeners
        return [one["sql"] for one in asked if "crawling_runtotal" in one["sql"]]

    assert len(queries(1)) == 1
    for number in range(3):
        save_listener(WISH | {"name": f"Owners {number}"}, by=ada)
    assert len(queries(4)) == 1


def test_one_job_sums_up_for_all_and_none_is_asked_for_between_weeks(ada, mail_server, clock):
    clock(MONDAY - DAY)
    save_listener(WISH, by=ada)
    choose_summary(ada)
    write_due_summaries()
    assert not BackgroundJob.objects.exists()

    clock(MONDAY)
    write_due_summaries()
    write_due_summaries()

    [job] = BackgroundJob.objects.all()
    assert (job.kind, job.by) == (SUMMING.name, None)
    assert SUMMING.work(None) == {"left": 2}


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../UTC", "Europe"])
def test_a_time_zone_that_is_none_costs_no_other_its_letter(ada, mail_server, clock, zone):
    other = User.objects.create_user("ben")
    clock(MONDAY - DAY)
    save_listener(WISH, by=other)
    save_listener(WISH | {"name": "Hers"}, by=ada)
    choose_summary(ada)
    Preference.objects.update_or_create(user=ada, defaults={"time_zone": zone})

    clock(MONDAY)

    assert add_due_summaries() == 3
    assert {one["sentence"][:43] for one in told()} == {
        "In the week until 2026-11-30 07:00 UTC no r"
    }
    administrator = browser("administrator")
    pages = [
        soup(administrator.get(reverse("alerts:listener", args=[one.pk]))).text
        for one in Listener.objects.order_by("pk")
    ]
    wrong = f"{zone}, the time zone of ada, is no time zone"
    assert [wrong in " ".join(page.split()) for page in pages] == [False, True, True]


def test_a_week_that_was_missed_is_told_once(ada, mail_server, clock):
    clock(MONDAY - DAY)
    choose_summary(ada)
    clock(MONDAY + 17 * DAY + timedelta(hours=1))

    assert (add_due_summaries(), add_due_summaries()) == (1, 0)
    assert timezone.now() > MONDAY


def test_an_administrator_reads_the_end_of_the_week_in_the_own_zone(ada, mail_server, clock):
    clock(MONDAY - DAY)
    choose_summary(ada)
    administrator = browser("administrator")
    user = User.objects.get(username="administrator")
    Preference.objects.create(user=user, time_zone="Asia/Tokyo")

    page = soup(administrator.get(reverse("alerts:listener", args=[Listener.objects.get().pk])))

    told = "The next weekly summary: Monday, 2026-11-30 16:00 JST, which is 7:00 in UTC."
    assert told in " ".join(page.text.split())

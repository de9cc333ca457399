"""Alerts to the address of an account stop while it is locked, and go with it, unless they are
handed over.
"""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User
from django.urls import reverse

from crawling.base.alert_events import AlertEvent
from crawling.installation.events import alert
from crawling.models import Run
from crawling.uses.alerts.delivery import send_due_deliveries
from crawling.uses.alerts.listeners import choose_summary, save_listener
from crawling.uses.alerts.models import Delivery, Listener
from tests.crawling.pages import browser, soup
from tests.crawling.uses.alerts.test_weekly import crawled

WISH = {"name": "Hers", "url": "mailto:Ada@example.org", "events": ["finished"]}


@pytest.fixture
def administrator(db):
    return browser("administrator")


@pytest.fixture
def ada(administrator, mail_server):
    user = User.objects.create_user("ada", "ada@example.org", "x" * 20)
    user.groups.add(Group.objects.get(name="operator"))
    save_listener(WISH, by=User.objects.first())
    return user


@pytest.fixture
def ben(ada):
    user = User.objects.create_user("ben", "ben@example.org", "x" * 20)
    user.groups.add(Group.objects.get(name="operator"))
    return user


@pytest.fixture
def finish(ada):
    run = Run.objects.filter(crawl=crawled("Library", days_ago=2), is_latest=True).get()
    return lambda: alert(run, AlertEvent.FINISHED, "It has finished.")


def press(administrator, user, **sent):
    return administrator.post(reverse("administration:user", args=[user.pk]), sent)


def mailed(mail_server):
    send_due_deliveries()
    found = [to for _, recipients, _ in mail_server.letters for to in recipients]
    mail_server.letters.clear()
    return found


def test_they_stop_while_the_account_is_locked(ada, finish, mail_server):
    finish()
    User.objects.filter(pk=ada.pk).update(is_active=False)
    assert mailed(mail_server) == []  # not what was left before, either
    finish()
    User.objects.filter(pk=ada.pk).update(is_active=True)
    assert mailed(mail_server) == ["Ada@example.org"]


def test_an_address_that_a_user_who_is_there_has_too_gets_them(ada, finish, mail_server):
    User.objects.create_user("ada.too", "ADA@example.org")
    User.objects.filter(pk=ada.pk).update(is_active=False)
    finish()
    assert mailed(mail_server) == ["Ada@example.org"]


def test_who_locks_the_account_sees_them_first(ada, administrator):
    page = soup(press(administrator, ada, action="deactivate"))

    assert [
        (" ".join(one.text.split()), one.a["href"]) for one in page.select("main ul:not(nav *) li")
    ] == [("Alert by mail of all crawls, Hers", f"/alerts/{Listener.objects.get().pk}/")]
    assert User.objects.get(pk=ada.pk).is_active


def test_they_are_handed_over_to_the_address_of_another(
    ada, ben, administrator, finish, mail_server
):
    sent = {"action": "delete", "hand_to": "ben"}
    User.objects.filter(pk=ben.pk).update(email="")
    refused = press(administrator, ada, **sent)
    assert (refused.status_code, "ben has no e-mail address" in refused.text) == (422, True)
    assert User.objects.get(pk=ada.pk).is_active

    User.objects.filter(pk=ben.pk).update(email="ben@example.org")
    press(administrator, ada, **sent)
    finish()

    assert mailed(mail_server) == ["ben@example.org"]


def test_they_go_with_a_deleted_account_with_what_was_not_sent(
    ada, administrator, finish, mail_server
):
    choose_summary(ada)
    finish()

    press(administrator, ada, action="delete")

    assert (Listener.objects.count(), Delivery.objects.count()) == (0, 0)
    assert "deleted" in administrator.get("/administration/activity/").text
    assert mailed(mail_server) == []


def test_programs_list_them_among_what_stops(ada, administrator):
    [item] = administrator.get(f"/api/v1/users/{ada.pk}/shared-items").json()["items"]
    number = Listener.objects.get().pk
    assert item == {"crawl": None, "subject": "", "kind": "alert by mail", "id": number}

"""Alerts by e-mail: handed to a real mail server on loopback, logged and tried again like
webhooks."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from crawling.base.errors import BadOrder
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.uses.alerts.delivery import send_due_deliveries
from crawling.uses.alerts.listeners import save_listener
from crawling.uses.alerts.models import Delivery, Listener
from crawling.uses.alerts.wording import WAITS
from tests.crawling.pages import browser, soup

pytestmark = pytest.mark.slow

SEED = "http://127.0.0.1:8900/"
WISH = {"name": "On call", "url": "MAILTO:ops@example.org ", "events": ["started", "unsafe"]}


@pytest.fixture
def started(mail_server, order, django_user_model):
    save_listener(WISH, by=django_user_model.objects.create_user("ada"))
    return start_run(create_crawl(order(SEED)))


def test_a_mailbox_is_told_what_happened_and_where_to_look(started, mail_server):
    assert (send_due_deliveries(), send_due_deliveries()) == (1, 0)

    [(sender, recipients, letter)] = mail_server.letters
    assert (sender, recipients, letter["Subject"]) == (
        "crawlsite@localhost",
        ["ops@example.org"],
        "[crawlsite] started: a crawl, run 1",
    )
    assert "Run 1 started by the command line." in letter.get_content()
    assert f"See https://crawls.example.org/crawls/{started.crawl_id}/" in letter.get_content()
    assert Delivery.objects.get().outcome == "Taken by the mail server."


def test_what_a_mail_server_refuses_is_logged_and_sent_again_as_the_same_letter(
    started, mail_server
):
    mail_server.refused = {"ops@example.org"}
    send_due_deliveries()
    delivery = Delivery.objects.get()
    assert delivery.outcome == "Refused by the mail server: 550 No such mailbox here"
    assert timedelta(0) < delivery.next_try_at - timezone.now() <= WAITS[0]

    mail_server.refused = set()
    browser("administrator").post(reverse("alerts:again", args=[delivery.listener_id, delivery.pk]))
    send_due_deliveries()
    [(*_, letter)] = mail_server.letters
    assert letter["Message-ID"] == f"<delivery-{delivery.pk}@localhost>"


def test_a_mail_server_that_is_not_there_is_told_in_a_sentence(started, mail_server, settings):
    mail_server.server_close()
    send_due_deliveries()
    assert "the mail server 127.0.0.1" in Delivery.objects.get().outcome

    settings.EMAIL_HOST = ""
    Delivery.objects.update(next_try_at=timezone.now())
    send_due_deliveries()
    assert Delivery.objects.get().outcome == "Not sent: no mail server is set (MAIL_URL)."


def test_a_mail_server_that_never_stops_talking_is_left_in_time(started, mail_server, monkeypatch):
    monkeypatch.setattr("crawlsite.mail_backend.TALK_SECONDS", 0.3)
    mail_server.is_endless = True
    send_due_deliveries()

    assert "it has talked for 0 s and not come to an end" in Delivery.objects.get().outcome


def test_a_password_that_smtp_cannot_carry_is_told_and_not_shown(started, mail_server, settings):
    mail_server.extensions = ["AUTH PLAIN"]
    settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = "ops", "pässwort"
    send_due_deliveries()

    outcome = Delivery.objects.get().outcome
    assert "in ASCII only; give MAIL_URL such a user and password" in outcome
    assert "ä" not in outcome


def test_a_mailbox_wants_a_mail_server_and_an_address_that_is_one(
    db, settings, mail_server, django_user_model
):
    ada = django_user_model.objects.create_user("ada")
    for wrong in (
        "mailto:",
        "mailto:ops",
        "mailto:a@b.example,c@d.example",
        "mailto:a@b.example?cc=c@d.example",
    ):
        with pytest.raises(BadOrder, match="one mailbox"):
            save_listener({**WISH, "url": wrong}, by=ada)

    settings.EMAIL_HOST = ""
    page = browser("administrator").post(reverse("alerts:listeners"), WISH)
    assert "set MAIL_URL" in soup(page).get_text()
    assert not Listener.objects.exists()

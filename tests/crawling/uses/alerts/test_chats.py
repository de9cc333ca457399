"""Alerts to chats: each gets the message that it reads, and a test shows whether one arrives."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from crawling.base.errors import WrongState
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.uses.alerts.delivery import send_due_deliveries
from crawling.uses.alerts.listeners import save_listener, send_test
from crawling.uses.alerts.models import Delivery, Listener
from crawling.uses.alerts.wording import MessageFormat, body_of
from tests.crawling.pages import browser, soup

FACTS = {
    "event": "failed",
    "name": "News <!channel> & *more*",
    "run": 3,
    "sentence": "The disk <is> full.",
    "at": "2026-01-01T00:00:00+00:00",
    "page": "https://crawls.example.org/crawls/7/",
}


def shaped(format_: MessageFormat, **changes):
    return json.loads(body_of(format_, json.dumps(FACTS | changes)))


def test_facts_stay_as_they_are_byte_for_byte():
    assert body_of("json", '{"a":  1}') == b'{"a":  1}'


def test_slack_reads_text_in_which_no_name_is_markup():
    assert shaped(MessageFormat.SLACK)["text"].splitlines() == [
        "*failed: News &lt;!channel&gt; &amp; *more*, run 3*",
        "The disk &lt;is&gt; full.",
        "<https://crawls.example.org/crawls/7/|Open the page>",
    ]


def test_teams_reads_a_card_of_plain_runs_with_a_button():
    [attachment] = shaped(MessageFormat.TEAMS)["attachments"]
    card = attachment["content"]

    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    assert [block["inlines"][0]["text"] for block in card["body"]] == [
        "failed: News <!channel> & *more*, run 3",
        "The disk <is> full.",
    ]
    assert [action["url"] for action in card["actions"]] == [FACTS["page"]]


def test_matrix_reads_text_and_the_same_as_html():
    message = shaped(MessageFormat.MATRIX)

    assert message["text"].splitlines()[1:] == ["The disk <is> full.", FACTS["page"]]
    assert "<b>failed: News &lt;!channel&gt; &amp; *more*, run 3</b>" in message["html"]


@pytest.mark.parametrize("format_", [one for one in MessageFormat if one != MessageFormat.JSON])
def test_without_a_public_address_a_message_has_no_link(format_):
    facts = {name: value for name, value in FACTS.items() if name != "page"}

    assert "https://crawls" not in body_of(format_, json.dumps(facts)).decode()


@pytest.fixture
def server(make_site):
    return make_site({"/hook": (200, {}, "")})


@pytest.fixture
def slack(server, order, django_user_model):
    ada = django_user_model.objects.create_user("ada")
    fields = {"name": "Ops", "url": f"{server.url}/hook", "events": ["started"]}
    return save_listener(fields | {"message_format": "slack"}, by=ada)


def test_a_chat_is_sent_its_message_of_a_real_start(slack, server, order):
    start_run(create_crawl(order("http://127.0.0.1:8900/")))
    send_due_deliveries()

    [request] = server.log
    assert json.loads(request.body)["text"].startswith("*started: a crawl, run 1*")
    assert Delivery.objects.get().outcome == "Answered 200."


def test_an_operator_sends_a_test_from_the_page_and_sees_the_answer(slack, server):
    administrator, page = browser("administrator"), reverse("alerts:listener", args=[slack.pk])
    assert "Send a test" in soup(administrator.get(page)).get_text()
    administrator.post(reverse("alerts:test", args=[slack.pk]))
    send_due_deliveries()

    assert "This is a test, sent by administrator." in json.loads(server.log[0].body)["text"]
    row = soup(administrator.get(page)).select_one("tbody tr").get_text(" ", strip=True)
    assert ("test" in row, "delivered" in row) == (True, True)


def test_a_program_sends_a_test(slack):
    answer = browser("administrator").post(f"/api/v1/alerts/{slack.pk}/test")

    assert (answer.status_code, answer.json()["event"]) == (202, "test")
    assert browser("viewer").post(f"/api/v1/alerts/{slack.pk}/test").status_code == 403


def test_a_listener_that_is_switched_off_is_sent_no_test(slack, django_user_model):
    Listener.objects.update(is_on=False)

    with pytest.raises(WrongState, match="enable it"):
        send_test(slack, by=django_user_model.objects.get())
    assert not Delivery.objects.exists()


def test_a_mailbox_needs_no_scheme(db, settings, django_user_model):
    settings.EMAIL_HOST = "mail.example.org"
    fields = {"name": "On call", "url": "oncall@example.org", "events": ["failed"]}

    assert save_listener(fields, by=django_user_model.objects.create_user("ada")).url == (
        "mailto:oncall@example.org"
    )


def test_the_form_says_up_front_that_no_mail_server_is_set(db, settings):
    settings.EMAIL_HOST = ""
    page = browser("administrator").get(reverse("alerts:listeners"))

    assert "E-mail (off)" in soup(page).get_text()

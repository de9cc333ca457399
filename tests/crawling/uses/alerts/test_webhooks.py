"""Alerts: told of what happened, once it is true, signed, tried again, and to permitted addresses
only.
"""

from __future__ import annotations

import hmac
import json
import socket
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest
from django.contrib.auth.models import Permission
from django.db import transaction
from django.urls import reverse, set_urlconf
from django.utils import timezone

from crawling.base.errors import BadOrder
from crawling.jobs.running import run_job
from crawling.models import AllowedNetwork, BackgroundJob
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import create_run, start_run
from crawling.runs.steering import stop
from crawling.uses.alerts import delivery as sending
from crawling.uses.alerts.delivery import send_due_deliveries
from crawling.uses.alerts.jobs import request_sending
from crawling.uses.alerts.listeners import save_listener
from crawling.uses.alerts.models import Delivery, Listener
from crawling.uses.alerts.notify import CRAWL_PAGE, POOL_PAGE, add_test_delivery
from crawling.uses.alerts.wording import WAITS, next_attempt_time, read_listener, signature
from crawling.uses.extraction.jobs import EXTRACTION
from tests.crawling.pages import browser, soup
from tests.crawling.raw import serve_raw
from tests.stack import background_queue

SEED = "http://127.0.0.1:8900/"


@pytest.fixture
def server(make_site):
    return make_site({"/hook": (204, {}, "")})


@pytest.fixture
def listener(server, db) -> Listener:
    return Listener.objects.create(
        name="Chat", url=f"{server.url}/hook", secret="s3cret", events=["started", "stopped"]
    )


@pytest.fixture
def started(listener, order):
    return start_run(create_crawl(order(SEED)))


def test_a_run_tells_of_its_start_and_end_and_of_nothing_else(started):
    stop(started.crawl)

    told = [json.loads(delivery.body) for delivery in Delivery.objects.order_by("pk")]
    assert [(one["event"], one["name"], one["run"]) for one in told] == [
        ("started", "a crawl", 1),
        ("stopped", "a crawl", 1),
    ]


def test_what_is_told_under_the_runs_lock_loads_none_of_the_sites_views(listener, order):
    crawl = create_crawl(order(SEED))
    set_urlconf("no.such.module")
    try:
        run = start_run(crawl)
    finally:
        set_urlconf(None)

    assert (run.state, Delivery.objects.count()) == ("queued", 1)
    assert CRAWL_PAGE.format(7) == reverse("crawling:crawl", args=[7])
    assert POOL_PAGE.format(7) == reverse("allocation:pool", args=[7])


def test_what_was_rolled_back_is_told_to_nobody(listener, order):
    crawl = create_crawl(order(SEED))
    with transaction.atomic():
        create_run(crawl, by=None)
        transaction.set_rollback(True)

    assert not Delivery.objects.exists()


def test_a_delivery_is_signed_and_sent_once(started, server):
    assert send_due_deliveries() == 1
    assert send_due_deliveries() == 0

    [request] = server.log
    assert (request.method, request.path, json.loads(request.body)["event"]) == (
        "POST",
        "/hook",
        "started",
    )
    signed = f"{request.headers['X-Crawlsite-Timestamp']}.".encode() + request.body
    assert (
        request.headers["X-Crawlsite-Signature"]
        == "sha256=" + hmac.new(b"s3cret", signed, sha256).hexdigest()
    )
    delivery = Delivery.objects.get()
    assert (delivery.outcome, delivery.next_try_at, delivery.attempts) == ("Answered 204.", None, 1)


def test_a_server_that_fails_is_asked_again_later_and_an_operators_word_sends_it_at_once(
    started, server
):
    server.pages["/hook"] = (500, {}, "")
    send_due_deliveries()
    delivery = Delivery.objects.get()
    assert (delivery.outcome, delivery.delivered_at) == ("Answered 500.", None)
    assert timedelta(0) < delivery.next_try_at - timezone.now() <= WAITS[0]
    assert send_due_deliveries() == 0

    server.pages["/hook"] = (200, {}, "")
    administrator, page = (
        browser("administrator"),
        reverse("alerts:listener", args=[delivery.listener_id]),
    )
    assert "Answered 500." in soup(administrator.get(page)).get_text()
    administrator.post(reverse("alerts:again", args=[delivery.listener_id, delivery.pk]))
    assert send_due_deliveries() == 1
    assert "delivered" in soup(administrator.get(page)).get_text()


def test_webhooks_keep_to_a_rate_of_their_own_in_both_directions(started, server, monkeypatch):
    waits = []
    monkeypatch.setattr(sending.time, "sleep", waits.append)
    server.pages["/hook"] = (200, {}, "x" * 60_000)
    first = Delivery.objects.get()
    Delivery.objects.bulk_create(
        Delivery(
            listener=first.listener,
            event=first.event,
            body=first.body,
            next_try_at=first.next_try_at,
        )
        for _ in range(3)
    )

    assert send_due_deliveries() == 4
    assert max(waits) > 2  # four answers take almost four seconds, and one of them was saved up


def test_a_server_that_is_not_there_is_told_in_a_sentence(started):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # without a listener
        Listener.objects.update(url=f"http://127.0.0.1:{taken.getsockname()[1]}/")
        send_due_deliveries()

    assert Delivery.objects.get().outcome == "Not sent: The server did not accept a connection."


def test_an_address_that_no_administrator_allowed_is_not_asked(started, server):
    AllowedNetwork.objects.all().delete()

    send_due_deliveries()

    assert server.log == []
    assert "no administrator has allowed it" in Delivery.objects.get().outcome


def test_a_round_that_somebody_else_has_taken_up_is_left_to_them(started, server):
    # as taking it up does
    Delivery.objects.update(next_try_at=timezone.now() + timedelta(minutes=2))

    assert send_due_deliveries() == 0
    assert server.log == []


def test_a_server_that_fails_is_asked_once_a_round_and_others_need_not_wait(
    started, listener, server, make_site
):
    server.pages["/hook"] = (500, {}, "")
    other = Listener.objects.create(
        name="Other",
        url=f"{make_site({'/hook': (204, {}, '')}).url}/hook",
        secret="s",
        events=["started"],
    )
    for told in (listener, other, other):
        Delivery.objects.create(
            listener=told, event="started", body="{}", next_try_at=timezone.now()
        )

    assert send_due_deliveries() == 3
    assert len(server.log) == 1
    assert Delivery.objects.filter(listener=other, outcome="Answered 204.").count() == 2


def test_a_courier_that_was_killed_holds_up_no_delivery_but_the_one_it_had_in_hand(
    started, listener, server
):
    Delivery.objects.create(
        listener=listener, event="started", body="{}", next_try_at=timezone.now()
    )
    taken = sending._reserve_next(())

    assert send_due_deliveries() == 1
    assert not Delivery.objects.exclude(outcome="Answered 204.").exclude(pk=taken.pk).exists()


def test_a_delivery_that_couriers_die_of_is_given_up(started):
    for attempt in range(1, len(WAITS) + 2):
        Delivery.objects.update(next_try_at=timezone.now())
        assert sending._reserve_next(()).attempts == attempt

    delivery = Delivery.objects.get()
    assert (delivery.next_try_at, delivery.outcome[:16]) == (None, "Nothing is known")


def talk_nonsense(connection):
    connection.recv(65536)
    connection.sendall(b"nonsense\r\n\r\n")


def test_a_server_that_talks_nonsense_is_not_called_one_that_does_not_answer(started):
    with serve_raw(talk_nonsense, talk_nonsense) as (url, _):
        Listener.objects.update(url=url)
        send_due_deliveries()

    outcome = Delivery.objects.get().outcome
    assert outcome == "Not sent: The server's answer breaks the rules of HTTP."


@pytest.mark.django_db(transaction=True)
def test_the_scheduler_asks_for_one_job_at_a_time_which_sends_what_is_due(started):
    with background_queue() as queue:
        request_sending()
        request_sending()
        job = BackgroundJob.objects.get()
        assert queue.job_ids == [f"job-{job.pk}"]

        run_job(job.pk)
        request_sending()

    job.refresh_from_db()
    assert (job.state, job.result) == ("done", {"tried": 1})
    assert Delivery.objects.get().delivered_at
    assert BackgroundJob.objects.count() == 1, "nothing is due"


@pytest.mark.django_db(transaction=True)
def test_sending_ends_after_a_delivery_while_a_user_waits_for_the_worker(started, listener):
    for _ in range(2):
        add_test_delivery(listener, "ada")
    with background_queue():
        request_sending()
        job = BackgroundJob.objects.get()
        EXTRACTION.job.enqueue(1)  # which a user asks for

        run_job(job.pk)

    job.refresh_from_db()
    assert job.result == {"tried": 1}
    assert Delivery.objects.filter(next_try_at__isnull=False).count() == 2


def test_an_administrator_makes_changes_and_removes_a_webhook_in_the_browser(db):
    administrator, page = browser("administrator"), reverse("alerts:listeners")
    wrong = soup(administrator.post(page, {"name": "Chat", "url": "ftp:/x", "is_on": "on"}))
    assert len(wrong.select(".error")) == 2

    administrator.post(
        page,
        {"name": "Chat", "url": "https://chat.example/hook", "events": ["failed"], "is_on": "on"},
    )
    listener = Listener.objects.get()
    assert (listener.events, len(listener.secret)) == (["failed"], 64)
    own = reverse("alerts:listener", args=[listener.pk])
    administrator.post(own, {"name": "Chat", "url": listener.url, "events": ["failed", "trouble"]})
    listener.refresh_from_db()
    assert (listener.events, listener.is_on) == (["failed", "trouble"], False)

    administrator.post(own, {"remove": "1"})
    assert not Listener.objects.exists()


def test_what_was_removed_meanwhile_does_not_come_back(listener, django_user_model):
    Listener.objects.all().delete()

    with pytest.raises(BadOrder, match="has been removed"):
        save_listener(
            {"name": "Chat", "url": listener.url, "events": ["failed"]},
            by=django_user_model.objects.create_user("ada"),
            listener=listener,
        )
    assert not Listener.objects.exists()


def test_who_may_change_listeners_need_not_be_one_who_may_remove_them(
    listener, client, django_user_model
):
    ada = django_user_model.objects.create_user("ada")
    ada.user_permissions.add(Permission.objects.get(codename="change_listener"))
    client.force_login(ada)
    own = reverse("alerts:listener", args=[listener.pk])

    assert soup(client.get(own)).find("button", attrs={"name": "remove"}) is None
    assert client.post(own, {"remove": "1"}).status_code == 403
    assert Listener.objects.exists()


def test_waits_grow_until_a_delivery_is_given_up():
    now = datetime(2026, 1, 1, tzinfo=UTC)

    assert [next_attempt_time(attempts, now) for attempts in range(1, 7)] == [
        *(now + wait for wait in WAITS),
        None,
    ]


def test_a_signature_holds_for_its_time_and_body_only():
    assert signature("key", 1, b"{}") == "sha256=" + hmac.new(b"key", b"1.{}", sha256).hexdigest()
    assert (
        len(
            {
                signature("key", 1, b"{}"),
                signature("key", 2, b"{}"),
                signature("key", 1, b"[]"),
                signature("yek", 1, b"{}"),
            }
        )
        == 4
    )


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"events": []}, "events", "needs at least one entry"),
        ({"events": ["eaten"]}, "events", "must be 'started'"),
        ({"url": "ftp://a.example/"}, "url", "http"),
        ({"name": ""}, "name", "must not be empty"),
        ({"colour": "red"}, "colour", "not a field of a listener"),
    ],
)
def test_what_is_wrong_with_a_webhook_is_said_at_its_field(fields, field, sentence):
    order, errors = read_listener(
        {"name": "Chat", "url": "https://chat.example/", "events": ["failed"], **fields}
    )

    assert order is None
    assert sentence in errors[field]

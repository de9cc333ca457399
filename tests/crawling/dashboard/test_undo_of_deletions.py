"""The message after the deletion of something small has a button that brings it back."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from crawling.models import BlocklistEntry, CrawlJob, OrderTemplate, SavedView, Schedule
from crawling.runs.crawls.blocklist import add_entry
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.schedules import set_schedule
from crawling.runs.crawls.templates import save_template
from crawling.uses.alerts import listeners
from crawling.uses.alerts.listeners import save_listener
from crawling.uses.alerts.models import Delivery, Listener
from crawling.uses.alerts.notify import add_test_delivery
from crawling.uses.watches import watching
from crawling.uses.watches.models import Watch, WatchEvent
from crawling.uses.watches.watching import WatchFields, create_watch
from tests.crawling.conftest import allowed_loopback, order_of, the_pool
from tests.crawling.pages import browser, soup

WISH = {"name": "Chat", "url": "https://chat.example.org/hook", "events": ["failed"]}


@pytest.fixture
def administrator(db):
    return browser("administrator")


@pytest.fixture
def crawl(administrator) -> CrawlJob:
    the_pool()
    allowed_loopback()
    return create_crawl(order_of("http://127.0.0.1:8900/", name="Books"))


def undo(client, address, sent):
    """Delete something by a button, and press the button of the message."""
    page = soup(client.post(address, sent, follow=True))
    (button,) = page.select(".message button")
    assert button.text == "Undo"
    return soup(
        client.post(button["formaction"], {"acts": button["value"], "next": "/"}, follow=True)
    )


def message(page):
    return " ".join(page.select_one(".message").text.split())


def test_a_template_comes_back(crawl, administrator):
    template = save_template(crawl, "Usual", by=None)
    undo(administrator, reverse("crawling:template-remove", args=[template.pk]), {})
    assert OrderTemplate.objects.get().order == template.order


def test_a_view_comes_back(crawl, administrator):
    administrator.post("/crawls/views/", {"name": "Failed", "next": "/crawls/?state=failed"})
    view = SavedView.objects.get()
    undo(administrator, reverse("crawling:views"), {"forget": view.pk})
    assert SavedView.objects.get().query == view.query


def test_an_entry_of_the_blocklist_comes_back(administrator):
    entry = add_entry("host", "a.test", "because", by=None)
    undo(administrator, reverse("crawling:blocklist-remove", args=[entry.pk]), {})
    assert BlocklistEntry.objects.get(removed_at=None).text == "a.test"


def test_a_schedule_comes_back(crawl, administrator):
    set_schedule(crawl, {"cron": "0 3 * * *"})
    undo(administrator, reverse("crawling:schedule", args=[crawl.pk]), {"repeat": ""})
    assert Schedule.objects.get().timing["cron"] == "0 3 * * *"


@pytest.fixture
def watch(crawl):
    made = create_watch(crawl, WatchFields("host", "a.test"), by=None)
    run = crawl.runs.create(number=1, state="finished", is_latest=True)
    known = {"run": run, "kind": "changed", "url": "http://a.test/", "fingerprint": 1}
    WatchEvent.objects.create(watch=made, **known)
    return made


def test_a_watch_comes_back_with_its_events(watch, administrator):
    page, address = f"/crawls/{watch.crawl_id}/watches/", f"/crawls/{watch.crawl_id}/watches/{{}}/"
    news = "/api/v1/news"
    assert len(administrator.get(news).json()["items"]) == 1

    undo(administrator, address.format(watch.pk), {})
    assert Watch.objects.get() == watch
    assert "http://a.test/" in administrator.get(page).text

    administrator.post(address.format(watch.pk))
    assert not Watch.objects.exists()
    assert "http://a.test/" not in administrator.get(page).text
    assert administrator.get(news).json()["items"] == []
    again = f"/api/v1/crawls/{watch.crawl_id}/watches/{watch.pk}/restore"
    assert administrator.post(again).json()["id"] == watch.pk
    assert administrator.post(again).status_code == 404


def test_a_watch_comes_back_only_where_there_is_room(watch, administrator, monkeypatch):
    monkeypatch.setattr(watching, "MOST_WATCHES", 1)
    watching.remove_watch(watch.crawl, watch.pk, by=None)
    create_watch(watch.crawl, WatchFields("host", "b.test"), by=None)

    administrator.post(f"/crawls/{watch.crawl_id}/watches/{watch.pk}/?restore=1")

    assert Watch.objects.get().text == "b.test"


@pytest.fixture
def listener(administrator):
    user = administrator.get("/").wsgi_request.user
    made = save_listener(WISH, by=user)
    add_test_delivery(made, "ada")
    return made


def test_an_alert_comes_back_with_its_secret_and_deliveries(listener, administrator):
    address, secret = reverse("alerts:listener", args=[listener.pk]), listener.secret

    undo(administrator, address, {"remove": "1"})

    assert (Listener.objects.get().secret, Delivery.objects.count()) == (secret, 1)
    administrator.delete(f"/api/v1/alerts/{listener.pk}")
    assert administrator.get(address).status_code == 404
    assert administrator.post(f"/api/v1/alerts/{listener.pk}/restore").json()["name"] == "Chat"


def test_an_alert_whose_name_was_given_again_stays_away(listener, administrator):
    address = reverse("alerts:listener", args=[listener.pk])
    administrator.post(address, {"remove": "1"})
    save_listener(WISH, by=listener.created_by)

    page = soup(administrator.post(f"{address}?restore=1", follow=True))

    assert "There is another alert of that name" in page.text
    assert Listener.objects.count() == 1


def test_after_a_day_they_are_gone_for_good(listener, watch, administrator):
    long_ago = timezone.now() - timedelta(hours=25)
    Watch.objects.update(removal_asked_at=long_ago)
    Listener.objects.update(removal_asked_at=long_ago)
    restore = [
        administrator.post(f"/api/v1/alerts/{listener.pk}/restore"),
        administrator.post(f"/api/v1/crawls/{watch.crawl_id}/watches/{watch.pk}/restore"),
    ]
    assert [answer.status_code for answer in restore] == [404, 404]

    listeners.delete_removed_listeners()
    watching.delete_removed_watches()

    assert (Listener.all_objects.count(), Watch.all_objects.count()) == (0, 0)

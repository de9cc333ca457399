"""Collections, extractors, watches and alerts stand under *Recently deleted* like all else, and
come back from there as they were.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from crawling.models import CrawlJob, Team
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.teams import set_team_rule
from crawling.uses.alerts.listeners import remove_listener, save_listener
from crawling.uses.alerts.models import Listener
from crawling.uses.collections import restoring
from crawling.uses.collections.changes import CollectionFields, add_members, create_collection
from crawling.uses.collections.models import Collection
from crawling.uses.collections.share_links import create_link
from crawling.uses.extraction.extractors import extractors, remove_extractor, save_extractor
from crawling.uses.watches.models import Watch
from crawling.uses.watches.watching import WatchFields, create_watch, remove_watch
from tests.crawling.conftest import allowed_loopback, order_of, the_pool
from tests.crawling.pages import browser, soup

PAGE = "/crawls/deleted/"


@pytest.fixture
def administrator(db):
    return browser("administrator")


@pytest.fixture
def crawl(administrator) -> CrawlJob:
    the_pool()
    allowed_loopback()
    return create_crawl(order_of("http://127.0.0.1:8900/", name="Books"))


@pytest.fixture
def deleted(crawl, administrator):
    """One of each kind; the addresses of their rows by kind."""
    admin = User.objects.get(username="administrator")
    collection = create_collection(CollectionFields("Town", "Its sites"), by=admin)
    add_members(collection, crawls=[crawl.pk], by=admin)
    restoring.delete_collection(collection, by=admin)
    extractor = save_extractor("Prices", {"price": ".price"}, by=admin)
    remove_extractor(extractor, by=admin)
    watch = create_watch(crawl, WatchFields("host", "a.test"), by=admin)
    remove_watch(crawl, watch.pk, by=admin)
    wish = {"name": "Chat", "url": "https://chat.example.org/", "events": ["failed"]}
    listener = save_listener(wish, by=admin)
    remove_listener(listener, by=admin)
    made = {"collection": collection, "extractor": extractor, "watch": watch, "alert": listener}
    return {kind: f"{PAGE}{kind}/{one.pk}/" for kind, one in made.items()}


def names(client) -> list[str]:
    return [" ".join(row.th.text.split()) for row in soup(client.get(PAGE)).select("tbody tr")]


def still_deleted(client) -> set[str]:
    return {row["kind"] for row in client.get("/api/v1/deleted").json()["items"]}


def test_all_are_listed_and_restored(deleted, administrator):
    assert set(names(administrator)) == {
        "Town collection",
        "Prices extractor",
        "host a.test of Books watch",
        "Chat alert",
    }

    for address in deleted.values():
        administrator.post(f"{address}restore/")

    assert names(administrator) == []
    assert Collection.objects.get().members.get().crawl.name == "Books"
    assert Listener.objects.get().name == "Chat"
    assert Watch.objects.get().text == "a.test"
    assert extractors().get().rules == {"price": ".price"}


def test_json_restores_each(deleted, administrator):
    assert still_deleted(administrator) == set(deleted)

    for address in deleted.values():
        path = address.removeprefix("/crawls/").rstrip("/")
        assert administrator.post(f"/api/v1/{path}/restore").status_code == 200

    assert still_deleted(administrator) == set()


def test_each_is_deleted_permanently_by_its_name(deleted, administrator):
    """But for extractors, whose revisions orders name."""
    rows = {row["kind"]: row for row in administrator.get("/api/v1/deleted").json()["items"]}
    for kind, address in deleted.items():
        place = f"/api/v1/{address.removeprefix('/crawls/').rstrip('/')}"
        assert administrator.delete(f"{place}?name=other").status_code == 409
        kept = administrator.delete(f"{place}?name={rows[kind]['name']}").status_code
        assert (kind, kept) == (kind, 409 if kind == "extractor" else 204)

    assert names(administrator) == ["Prices extractor"]
    assert not Collection.all_objects.exists()
    assert not soup(administrator.get(PAGE)).select("a[href$='/remove/']")


def test_alerts_are_for_administrators_and_others_restore_their_own(deleted, administrator):
    set_team_rule(own_crawls_only=True)
    CrawlJob.objects.update(created_by=User.objects.get(username="administrator"))
    operator = browser("operator")

    assert "alert" not in still_deleted(operator)
    assert operator.post(f"{deleted['alert']}restore/").status_code == 404
    for kind in ("collection", "extractor", "watch"):
        assert (kind, operator.post(f"{deleted[kind]}restore/").status_code) == (kind, 403)
    assert not soup(operator.get(PAGE)).select("button[formaction*='/deleted/']")
    assert len(still_deleted(administrator)) == 4


def test_a_message_has_undo(crawl, administrator):
    made = create_collection(CollectionFields("Town"), by=None)

    page = soup(administrator.post(f"/collections/{made.pk}/delete/", follow=True))
    assert administrator.get(f"/collections/{made.pk}/").status_code == 404
    administrator.post(page.select_one(".message button")["formaction"])

    assert administrator.get(f"/collections/{made.pk}/").status_code == 200


def test_a_link_opens_nothing_while_its_collection_is_deleted(crawl):
    stranger = Client(REMOTE_ADDR="198.51.102.1")
    made = create_collection(CollectionFields("Town"), by=None)
    _, token = create_link(made, days=7, by=None)
    restoring.delete_collection(made, by=None)
    assert stranger.get(f"/shared/collections/{token}/").status_code == 404

    restoring.restore_collection(made.pk, by=None)

    assert stranger.get(f"/shared/collections/{token}/").status_code == 200


def test_a_name_that_was_given_again_is_not_taken_away(crawl, administrator):
    made = create_collection(CollectionFields("Town"), by=None)
    restoring.delete_collection(made, by=None)
    create_collection(CollectionFields("Town", "another"), by=None)

    page = soup(administrator.post(f"{PAGE}collection/{made.pk}/restore/", follow=True))

    assert "another collection of that name" in page.main.text
    assert Collection.objects.get().description == "another"


def test_the_team_of_a_deleted_collection_stays(crawl, administrator):
    """Another team of its name would get the collection."""
    team = Team.objects.create(name="library")
    made = create_collection(CollectionFields("Town", team="library"), by=None)
    restoring.delete_collection(made, by=None)

    administrator.post(f"/administration/teams/{team.pk}/", {"action": "delete"})

    assert Team.objects.filter(pk=team.pk).exists()


def test_the_command_restores_by_name(crawl, capsys):
    call_command("crawl", "collection", "Town", "--new")
    call_command("crawl", "collection", "Town", "--delete")
    assert not Collection.objects.exists()

    call_command("crawl", "collection", "Town", "--restore")

    assert Collection.objects.get().name == "Town"
    with pytest.raises(CommandError, match="no deleted collection 'Town'"):
        call_command("crawl", "collection", "Town", "--restore")


def test_after_a_day_they_are_gone(deleted, administrator):
    long_ago = timezone.now() - timedelta(hours=25)
    Collection.all_objects.update(removal_asked_at=long_ago)

    assert "collection" not in still_deleted(administrator)
    assert administrator.post(f"{deleted['collection']}restore/").status_code == 404
    restoring.forget_deleted_collections()
    assert not Collection.all_objects.exists()


def test_many_cost_the_list_no_more_questions(deleted, crawl, administrator):
    with CaptureQueriesContext(connection) as few:
        administrator.get(PAGE)
    for number in range(5):
        one = create_collection(CollectionFields(f"Town {number}"), by=None)
        restoring.delete_collection(one, by=None)
        watch = create_watch(crawl, WatchFields("host", f"{number}.test"), by=None)
        remove_watch(crawl, watch.pk, by=None)
    with CaptureQueriesContext(connection) as many:
        administrator.get(PAGE)

    assert len(many) == len(few)

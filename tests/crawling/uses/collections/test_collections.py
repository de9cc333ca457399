"""A collection has crawls and single pages, for those who may act on them; what is deleted or taken
down is not shown, and is there again once it is restored.
"""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from crawling.base.errors import BadOrder, WrongState
from crawling.models import CrawlJob, Page, Run, Team
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.teams import create_team, delete_team, rename_team, set_team_rule
from crawling.runs.housekeeping.deletion import delete_crawl, restore_crawl, restore_run
from crawling.runs.housekeeping.run_removal import remove_run
from crawling.runs.start import start_run
from crawling.uses.collections import changes
from crawling.uses.collections.changes import (
    CollectionFields,
    add_members,
    create_collection,
    edit_collection,
    remove_members,
)
from crawling.uses.collections.members import captures_of_collection, figures_of, member_rows
from crawling.uses.collections.models import Collection, CollectionMember
from crawling.uses.withdrawals.withdrawing import undo_withdrawal, withdraw_pages
from tests.crawling.conftest import do_shifts
from tests.crawling.pages import browser, soup


@pytest.fixture(scope="module")
def site(shared):
    return shared.serve(
        {"/": "<title>Home</title><a href=/a>a</a>", "/a": "<title>A book</title>text"}
    )


@pytest.fixture(scope="module")
def crawled(site, crawl_once, shared):
    """Two runs of a crawl; the run is the first."""
    run = crawl_once(f"{site.url}/", name="Books")
    shared.do(lambda: do_shifts(start_run(run.crawl)))
    return run


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


@pytest.fixture
def page(run):
    return Page.objects.get(run=run, url__url__endswith="/a")


@pytest.fixture
def collection(db):
    return create_collection(CollectionFields("Town library"), by=None)


def names(collection) -> list[str]:
    return [row.name for row in member_rows(collection)]


def test_a_collection_has_crawls_with_all_their_runs_and_single_pages(run, page, collection):
    other = create_crawl({"name": "Empty", "seeds": ["http://127.0.0.1:8900/"]})

    said = add_members(collection, crawls=[run.crawl_id, other.pk], pages=[page.pk], by=None)

    assert len(said.added) == 3
    crawl, empty, single = member_rows(collection)
    assert (crawl.name, crawl.runs, crawl.pages, crawl.url) == ("Books", 2, 4, "")
    assert crawl.first < crawl.last
    assert (empty.name, empty.runs, empty.pages, empty.first) == ("Empty", 0, 0, None)
    assert (single.name, single.run, single.pages) == ("A book", 1, 1)
    assert single.url == page.url.url


def test_what_is_in_it_twice_is_counted_once(run, page, collection):
    add_members(collection, pages=[page.pk], by=None)
    assert figures_of(member_rows(collection)).pages == 1

    add_members(collection, crawls=[run.crawl_id], by=None)
    again = add_members(collection, crawls=[run.crawl_id], pages=[page.pk], by=None)

    figures = figures_of(member_rows(collection))
    assert (again.added, again.known) == ([], 2)
    assert (figures.crawls, figures.runs, figures.pages) == (1, 2, 4)


def test_a_deleted_crawl_or_run_is_not_in_it_until_it_is_restored(run, page, collection):
    add_members(collection, crawls=[run.crawl_id], pages=[page.pk], by=None)

    remove_run(run, by=None)
    assert names(collection) == ["Books"]
    assert member_rows(collection)[0].runs == 1
    restore_run(run.pk, by=None)
    assert names(collection) == ["Books", "A book"]

    delete_crawl(run.crawl, by=None)
    assert names(collection) == []
    restore_crawl(run.crawl_id, by=None)
    assert names(collection) == ["Books", "A book"]


def test_what_is_deleted_for_good_leaves_the_collection(run, page, collection):
    add_members(collection, crawls=[run.crawl_id], pages=[page.pk], by=None)

    remove_run(run, by=None, for_good=True)
    assert [one.page for one in collection.members.all()] == [None]

    delete_crawl(CrawlJob.objects.get(pk=run.crawl_id), by=None, for_good=True)
    assert not CollectionMember.objects.exists()


def test_a_page_that_is_taken_down_is_in_it_again_once_that_is_undone(run, page, collection):
    add_members(collection, pages=[page.pk], by=None)

    text = page.url.url
    withdrawal = withdraw_pages(run.crawl, run, kind="page", text=text, reason="asked", by=None)
    assert names(collection) == []
    assert captures_of_collection(collection, text) == []

    undo_withdrawal(run.crawl, withdrawal.pk, by=None)
    assert names(collection) == ["A book"]


def test_captures_of_an_address_are_those_of_the_collection(run, page, collection):
    add_members(collection, pages=[page.pk], by=None)
    assert captures_of_collection(collection, page.url.url) == [page]

    add_members(collection, crawls=[run.crawl_id], by=None)

    assert [one.run.number for one in captures_of_collection(collection, page.url.url)] == [2, 1]


def test_only_those_who_may_act_on_a_crawl_add_it_and_only_owners_change_the_collection(run, page):
    set_team_rule(own_crawls_only=True)
    browser("operator")
    ada = User.objects.get(username="operator")
    eve = User.objects.create_user("eve")
    eve.groups.set(ada.groups.all())
    CrawlJob.objects.filter(pk=run.crawl_id).update(created_by=eve)
    mine = create_collection(CollectionFields("Mine"), by=ada)
    own = create_crawl({"name": "Own", "seeds": ["http://127.0.0.1:8900/"]}, by=ada)

    with pytest.raises(PermissionDenied, match="eve"):
        add_members(mine, pages=[page.pk], by=ada)
    said = add_members(mine, crawls=[run.crawl_id, own.pk], by=ada)
    with pytest.raises(PermissionDenied, match="its owner"):
        add_members(mine, crawls=[run.crawl_id], by=eve)

    assert names(mine) == ["Own"]
    assert len(said.refused) == 1
    Team.objects.create(name="Press").members.add(ada, eve)
    edit_collection(mine, CollectionFields("Mine", team="Press"), by=ada)
    add_members(mine, crawls=[run.crawl_id], by=eve)
    assert names(mine) == ["Books", "Own"]


def test_a_name_is_one_line_and_is_given_once(collection):
    for name in ("", " ", "a\nb", "x" * 101, "Town library"):
        with pytest.raises(BadOrder):
            create_collection(CollectionFields(name), by=None)
    with pytest.raises(BadOrder):
        edit_collection(collection, CollectionFields("Town library", team="none such"), by=None)


def test_a_collection_has_so_many_members_at_most(run, page, collection, monkeypatch):
    monkeypatch.setattr(changes, "MOST_MEMBERS", 1)
    add_members(collection, crawls=[run.crawl_id], by=None)

    with pytest.raises(WrongState, match="at most 1 member"):
        add_members(collection, pages=[page.pk], by=None)


def test_crawls_of_the_list_are_added_to_a_new_collection_and_that_is_taken_back(run):
    client = browser("operator")
    form = {"action": "collect", "which": "ticked", "crawl": [run.crawl_id], "next": "/crawls/"}

    asked = client.post("/crawls/bulk/", form, follow=True)
    assert "Books" in soup(asked).main.get_text()
    done = client.post(
        "/collections/add/", {"crawl": [run.crawl_id], "name": "Weekly"}, follow=True
    )
    made = Collection.objects.get()
    assert names(made) == ["Books"]
    assert made.created_by.username == "operator"
    button = soup(done).select_one(".flash button")
    elsewhere = client.post(reverse("crawling:undo"), {"acts": button["value"]}, follow=True)
    assert "can be undone no more" in soup(elsewhere).get_text()
    client.post(button["formaction"], {"acts": button["value"]})

    assert names(made) == []


def test_acts_of_another_button_are_refused(run, collection):
    add_members(collection, crawls=[run.crawl_id], by=None)
    client = browser("operator")
    form = {"action": "tag", "confirmed": "1", "tags": "old", "crawl": [run.crawl_id]}
    done = client.post("/crawls/bulk/", form, follow=True)
    acts = soup(done).select_one(".flash button")["value"]

    said = client.post(f"/collections/{collection.pk}/undo/", {"acts": acts}, follow=True)

    assert "can be undone no more" in soup(said).get_text()
    assert names(collection) == ["Books"]


def test_a_stored_page_is_added_from_its_menu(run, page, collection):
    client = browser("operator")
    links = soup(client.get(f"/crawls/{run.crawl_id}/pages/{page.pk}/")).select(".menu a")
    address = next(one["href"] for one in links if one.text == "Add to a collection")

    assert "A book" in soup(client.get(address)).main.get_text()
    client.post(address, {"page": page.pk, "collection": collection.pk})

    assert names(collection) == ["A book"]


def test_the_page_of_a_collection_sorts_filters_and_removes(run, page, collection):
    home = Page.objects.get(run=run, url__url__endswith="/")
    add_members(collection, pages=[page.pk, home.pk], by=None)
    client, address = browser("operator"), f"/collections/{collection.pk}/"

    def shown(query: str) -> list[str]:
        return [one.text for one in soup(client.get(address + query)).select("tbody th > a")]

    assert shown("") == ["A book", "Home"]
    assert shown("?sort=-name") == ["Home", "A book"]
    assert shown("?q=HOME") == ["Home"]
    member = collection.members.get(page=home.pk)
    done = client.post(f"{address}remove/", {"member": member.pk}, follow=True)
    assert shown("") == ["A book"]
    button = soup(done).select_one(".flash button")
    client.post(button["formaction"], {"acts": button["value"]})
    assert shown("") == ["A book", "Home"]


def test_a_viewer_reads_a_collection_and_is_offered_no_change(run, collection):
    add_members(collection, crawls=[run.crawl_id], by=None)
    client = browser("viewer")

    page = soup(client.get(f"/collections/{collection.pk}/")).main

    assert "Books" in page.get_text()
    assert not page.select("form[method=post], button[formaction]")
    assert not [one for one in page.select("a") if "edit" in one["href"] or "share" in one["href"]]


def test_a_deleted_collection_leaves_its_crawls(run, collection):
    add_members(collection, crawls=[run.crawl_id], by=None)

    browser("operator").post(f"/collections/{collection.pk}/delete/")

    assert not Collection.objects.exists()
    assert CrawlJob.objects.filter(pk=run.crawl_id).exists()


def test_members_come_and_go_by_the_api(run, page, collection, settings):
    client, address = browser("operator"), "/api/v1/collections"
    made = client.post(address, {"name": "By API"}, content_type="application/json").json()
    place = f"{address}/{made['id']}"
    body = {"crawls": [run.crawl_id], "pages": [page.pk]}

    added = client.post(f"{place}/members", body, content_type="application/json").json()
    items = client.get(f"{place}/members").json()["items"]
    changed = client.patch(place, {"description": "x"}, content_type="application/json").json()
    gone = client.delete(f"{place}/members/{added['added'][0]}")

    assert [(one["kind"], one["name"]) for one in items] == [("crawl", "Books"), ("page", "A book")]
    assert (changed["name"], changed["description"]) == ("By API", "x")
    assert (changed["crawls"], changed["singles"], changed["figures"]["pages"]) == (1, 1, 4)
    assert gone.status_code == 204
    taken = client.get(f"{place}/captures", {"url": page.url.url}).json()["items"]
    assert [one["page"] for one in taken] == [page.pk]
    assert client.delete(place).status_code == 204
    assert client.get(place).status_code == 404


def test_the_command_makes_fills_and_deletes_a_collection(run, page):
    def told(*args: str):
        out = StringIO()
        call_command("crawl", "collection", *args, "--json", stdout=out)
        return json.loads(out.getvalue())

    made = told("Books and more", "--new", "--add-crawl", "Books", "--add-page", str(page.pk))

    assert [one["name"] for one in made["members"]] == ["Books", "A book"]
    assert [one["name"] for one in told()] == ["Books and more"]
    left = told("Books and more", "--remove", str(made["members"][0]["id"]))
    assert [one["name"] for one in left["members"]] == ["A book"]
    told(str(made["id"]), "--delete")
    assert told() == []
    with pytest.raises(CommandError, match="no collection"):
        told("Books and more")


def test_members_that_are_removed_by_their_numbers_are_those_of_the_collection(run, collection):
    other = create_collection(CollectionFields("Other"), by=None)
    added = add_members(other, crawls=[run.crawl_id], by=None).added

    assert remove_members(collection, [added[0].pk], by=None) == []
    assert names(other) == ["Books"]


def test_a_team_that_has_a_collection_keeps_its_name(db):
    """Else another team that takes the name would have its collections."""
    team = create_team("Press")
    create_collection(CollectionFields("Town library", team="Press"), by=None)

    for attempt in (lambda: rename_team(team, "Maps"), lambda: delete_team(team)):
        with pytest.raises(WrongState, match="collections Town library"):
            attempt()

"""Several pools, and teams with a share of them: which crawl runs where, under whose limit."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from allocation.models import Pool, Process, Share
from allocation.services import ShareLimits, change_share, create_pool_like
from crawling.base.errors import BadOrder, TooManyWait
from crawling.dashboard.base.crawl_views import crawl_view
from crawling.models import Schedule, ScheduledStart, Team
from crawling.runs.crawls.creation import check_order, create_crawl
from crawling.runs.crawls.revisions import edit_crawl
from crawling.runs.crawls.schedules import set_schedule, start_scheduled
from crawling.runs.start import start_run
from tests.crawling.conftest import CLASSES
from tests.crawling.pages import browser, soup

SEED = "http://127.0.0.1:8900/"
UNITS = {one.key: 2 * one.capacity for one in CLASSES}


@pytest.fixture
def press(pool) -> Pool:
    return create_pool_like(name="press", capacity={**UNITS, "worker": 1})


@pytest.fixture
def news(db) -> Team:
    return Team.objects.create(name="news")


def named(order, name: str, **fields):
    return create_crawl({**order(SEED, **fields), "name": name})


def processes(crawl) -> Process:
    return Process.objects.get(run_process__run__crawl=crawl)


def test_crawl_runs_in_its_pool_and_has_the_share_of_its_team(order, press, news):
    here = named(order, "here")
    there = named(order, "there", pool="press", team="news", claim={"fetch_slots": 100})
    for crawl in (here, there):
        start_run(crawl)

    default = Pool.objects.get(name="default")
    assert (processes(here).pool, processes(here).share) == (default, None)
    process = processes(there)
    assert (process.pool, process.share.name, process.holding) == (press, "news", True)
    assert (
        crawl_view(there).as_dict() | {"pool": "press", "team": "news"}
        == crawl_view(there).as_dict()
    )


def test_crawl_waits_for_the_limit_of_its_team_and_says_so(order, pool, news):
    first, second = (named(order, name, team="news") for name in ("first", "second"))
    start_run(first)
    change_share(share=Share.objects.get().pk, limits=ShareLimits(limits={"fetch_slots": 20}))

    start_run(second)

    view = crawl_view(second)
    assert view.state == "waiting"
    assert "the limit of news is 20 fetch slots" in view.reason
    assert not processes(second).holding


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"pool": "nope"}, "pool", "there is no pool 'nope'; there are default"),
        ({"team": "nope"}, "team", "there is no team 'nope'; there are news"),
        ({"team": "news"}, "team", "you are no member of news"),
    ],
)
def test_order_that_names_what_is_not_there_or_not_ones_own_is_refused(
    order, news, fields, field, sentence
):
    with pytest.raises(BadOrder) as refused:
        check_order(order(SEED, **fields), by=User.objects.create_user("ann"))

    assert sentence in refused.value.errors[field]


def test_claim_is_held_against_the_limit_of_the_team(order, pool, news):
    start_run(named(order, "first", team="news", claim={"fetch_slots": 2}))
    share = Share.objects.get()
    change_share(share=share.pk, limits=ShareLimits(limits={"fetch_slots": 4}))

    with pytest.raises(BadOrder) as refused:
        named(order, "greedy", team="news", claim={"fetch_slots": 5})

    assert "more than the limit of its team (4)" in refused.value.errors["claim.fetch_slots"]
    assert named(order, "usual", team="news").claim["fetch_slots"] == 4


def test_team_is_changed_for_the_next_run_by_its_members(order, pool, news):
    crawl, ann = named(order, "a"), User.objects.create_user("ann")
    with pytest.raises(BadOrder):
        edit_crawl(crawl, {"team": "news"}, by=ann)

    news.members.add(ann)
    assert edit_crawl(crawl, {"team": "news"}, by=ann).team == "news"


def test_list_shows_the_crawls_of_a_user_and_of_a_team(order, pool, news):
    client = browser("operator")
    user = User.objects.get(username="operator")
    news.members.add(user)
    create_crawl({**order(SEED), "name": "mine"}, by=user)
    named(order, "ours", team="news")

    page = soup(client.get("/crawls/"))
    links = {a.text: a["href"] for a in page.select("nav.own a")}
    found = {
        text: {th.a.text for th in soup(client.get(href)).select("#live tbody th")}
        for text, href in links.items()
    }

    assert found == {"Mine": {"mine"}, "Team news": {"ours"}}


def test_administrator_makes_a_pool_on_its_page_and_operators_choose_it(pool, loopback):
    administrator = browser("administrator")
    wrong = administrator.post("/resources/new/", {"name": "default"})
    assert wrong.status_code == 422

    form = {f"capacity.{key}": units for key, units in UNITS.items()}
    form["capacity.bandwidth"] = f"{UNITS['bandwidth']} KiB/s"
    taken = administrator.post("/resources/new/", {"name": "default", **form})
    assert "name" in soup(taken).select_one(".error").text.lower()
    made = administrator.post("/resources/new/", {"name": "press", **form})

    press = Pool.objects.get(name="press")
    assert made.url == press.get_absolute_url()
    assert dict(zip(UNITS, press.capacity, strict=True)) == UNITS
    asked = soup(administrator.get("/crawls/new/")).select("select[name=pool] option")
    assert [one["value"] for one in asked] == ["", "press"]


def test_pools_are_made_filled_and_listed_by_command(order, pool, news, capsys):
    units = [f"{key}={n}" for key, n in UNITS.items()]
    call_command("pools", "create", "press", *units)
    call_command("pools", "set", "press", "fetch_slots=7")
    start_run(named(order, "a", pool="press", team="news", claim={"fetch_slots": 3}))
    limit, reserve = ["--limit", "fetch_slots=5"], ["--reserve", "memory=9"]
    call_command("pools", "share", "press", "news", *limit, *reserve)
    capsys.readouterr()

    call_command("pools", "list", "--json")
    default, press = json.loads(capsys.readouterr().out)
    assert (default["name"], press["name"]) == ("default", "press")
    assert (press["resources"][1]["capacity"], press["shares"][0]["limits"][1]) == (7, 5)
    call_command("pools", "list")
    assert "news: worker 1 of no limit, fetch_slots 3 of 5" in capsys.readouterr().out
    for wrong in (["create", "x", "worker=1"], ["set", "y", "worker=1"], ["set", "press", "q"]):
        with pytest.raises(CommandError):
            call_command("pools", *wrong)


def test_no_run_starts_while_too_many_are_queued_or_wait(order, pool, settings):
    settings.CRAWLS_WAITING_MAX = 1
    late, crowd = named(order, "late"), named(order, "crowd", processes=8)
    start_run(crowd)

    with pytest.raises(TooManyWait, match="1 of at most 1 crawls are queued or wait"):
        start_run(late)
    answer = browser("operator").post(f"/api/v1/crawls/{late.pk}/start")
    assert (answer.status_code, answer["Retry-After"]) == (429, "60")
    assert not late.runs.exists()
    set_schedule(late, {"every_minutes": 5})
    Schedule.objects.update(next_at="2026-01-01T00:00Z")
    start_scheduled()
    assert ScheduledStart.objects.get().outcome.startswith("Skipped: 1 of at most 1 crawls")

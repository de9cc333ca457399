"""Teams and whose a crawl is: pages, JSON and command line, and who may change what."""

from __future__ import annotations

import io
import json

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied
from django.core.management import CommandError, call_command

from allocation.services import ShareLimits, change_share
from crawling.base.errors import BadOrder
from crawling.installation.pools import default_pool
from crawling.models import CrawlJob, Team
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.teams import create_team, hand_over
from crawling.runs.grants import share_of
from crawling.runs.start import start_run
from tests.crawling.pages import browser, soup

TEAMS = "/administration/teams/"
SEED = "http://127.0.0.1:8900/"


@pytest.fixture
def administrator(db):
    return browser("administrator")


def user(name: str, role: str = "operator") -> User:
    made = User.objects.create_user(name)
    made.groups.add(Group.objects.get(name=role))
    return made


def manage(*words: str) -> str:
    out = io.StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def latest_change() -> dict:
    return json.loads(LogEntry.objects.latest("pk").change_message)


def test_a_team_is_made_renamed_filled_and_deleted_on_its_pages(administrator):
    user("ada"), user("ben")

    administrator.post(TEAMS, {"name": "Pres", "members": "ada\nben"})
    team = Team.objects.get()
    administrator.post(f"{TEAMS}{team.pk}/", {"name": "Press", "members": "ben"})
    listed = soup(administrator.get(TEAMS)).select_one("tbody").get_text(" ", strip=True)
    nobody = administrator.post(f"{TEAMS}{team.pk}/", {"name": "Press", "members": "eve"})
    unstorable = administrator.post(f"{TEAMS}{team.pk}/", {"name": "Press", "members": "b\0n"})

    assert listed == "Press ben 0 –"
    assert (nobody.status_code, unstorable.status_code) == (422, 422)
    assert "there is no user eve" in soup(nobody).get_text()
    administrator.post(f"{TEAMS}{team.pk}/", {"action": "delete"})
    assert not Team.objects.exists()
    assert latest_change()["action"] == "deleted"


def test_a_team_in_use_keeps_its_name_and_says_what_uses_it(administrator, order):
    team = create_team("Press")
    crawl = create_crawl(order(SEED, name="Manuals", team="Press"))
    start_run(crawl)
    page = soup(administrator.get(f"{TEAMS}{team.pk}/"))
    share = share_of(default_pool(), "Press")

    assert "crawls Manuals; its share of the pool default" in page.select_one("#name-help").text
    assert page.select_one(f"a[href='/resources/{default_pool().pk}/shares/{share}/']")
    for body, method in (({"name": "News"}, "patch"), (None, "delete")):
        answer = getattr(administrator, method)(
            f"/api/v1/teams/{team.pk}", body, content_type="application/json"
        )
        assert answer.status_code == 409
        assert "crawls Manuals" in answer.json()["detail"]
    with pytest.raises(CommandError, match="crawls Manuals"):
        manage("teams", "delete", "Press")


def test_a_share_with_a_limit_keeps_its_team(administrator, pool):
    create_team("Press")
    share = share_of(pool, "Press")
    change_share(share=share, limits=ShareLimits({}, {"memory": 100}))

    with pytest.raises(CommandError, match="its share of the pool default"):
        manage("teams", "delete", "Press")
    change_share(share=share, limits=ShareLimits({}, {"memory": None}))
    assert "is deleted" in manage("teams", "delete", "Press")


def test_programs_and_the_command_line_have_the_same(administrator):
    user("ada")
    made = administrator.post(
        "/api/v1/teams", {"name": "Press", "members": ["ada"]}, content_type="application/json"
    )
    twice = administrator.post("/api/v1/teams", {"name": "Press"}, content_type="application/json")

    assert (made.status_code, made.json()["members"]) == (201, ["ada"])
    assert "there is a team 'Press' already" in twice.json()["errors"]["name"]
    manage("teams", "members", "Press")
    manage("teams", "rename", "Press", "News")
    manage("teams", "create", "Maps", "--members", "ada")
    listed = [
        (one["name"], one["members"]) for one in json.loads(manage("teams", "list", "--json"))
    ]
    assert listed == [("Maps", ["ada"]), ("News", [])]
    assert manage("teams", "list") == "Maps: ada\nNews: –\n"


# -- hand-over


@pytest.fixture
def owned(order, administrator):
    """A crawl of Ada's; Ben may steer crawls, Vic may only look."""
    ada = user("ada")
    user("ben"), user("vic", "viewer")
    return create_crawl(order(SEED, name="Manuals"), by=ada)


def test_the_owner_hands_a_crawl_over_with_its_team(owned):
    ada, ben = User.objects.get(username="ada"), User.objects.get(username="ben")
    team = create_team("Press", ["ada", "ben"])

    hand_over(owned, "ben", "Press", by=ada)

    crawl = CrawlJob.objects.get()
    assert (crawl.created_by, crawl.team) == (ben, team.name)
    assert latest_change() == {"action": "handed over", "changes": {"owner": ["ada", "ben"]}}
    with pytest.raises(PermissionDenied, match="ben's: its owner hands it over"):
        hand_over(crawl, "ada", by=ada)


@pytest.mark.parametrize(
    ("owner", "team", "field"),
    [
        ("vic", None, "owner"),
        ("eve", None, "owner"),
        ("ben\0", None, "owner"),
        ("ben", "Press", "team"),
        ("ben", "x", "team"),
    ],
)
def test_a_crawl_goes_to_somebody_who_may_steer_it_and_to_a_team_of_theirs(
    owned, owner, team, field
):
    create_team("Press", ["ada"])

    with pytest.raises(BadOrder) as refusal:
        hand_over(owned, owner, team, by=User.objects.get(username="ada"))

    assert [*refusal.value.errors] == [field]
    assert CrawlJob.objects.get().created_by.username == "ada"


def test_page_json_and_command_line_hand_over(owned, administrator):
    operator, path = browser("operator"), f"/crawls/{owned.pk}/owner/"

    assert "only its owner ada and administrators act" in soup(operator.get(path)).get_text()
    assert operator.post(path, {"owner": "operator"}).status_code == 403
    answer = operator.put(
        f"/api/v1/crawls/{owned.pk}/owner", {"owner": "operator"}, content_type="application/json"
    )
    assert answer.status_code == 403
    assert administrator.post(path, {"owner": "nobody"}).status_code == 422
    administrator.post(path, {"owner": "operator"})
    assert CrawlJob.objects.get().created_by.username == "operator"
    answer = operator.put(
        f"/api/v1/crawls/{owned.pk}/owner", {"owner": "ben"}, content_type="application/json"
    )
    assert answer.status_code == 200
    manage("crawl", "hand-over", "Manuals", "--to", "ada")
    assert CrawlJob.objects.get().created_by.username == "ada"


@pytest.mark.parametrize("tab", ["", "pages/", "settings/"])
def test_each_tab_of_a_crawl_of_others_says_who_acts_on_it(owned, tab):
    head = soup(browser("operator").get(f"/crawls/{owned.pk}/{tab}")).select_one(".head")

    assert "only its owner ada and administrators act on it" in head.get_text()
    assert "operator role" not in head.get_text()
    assert "needs the operator role" in browser("viewer").get(f"/crawls/{owned.pk}/{tab}").text

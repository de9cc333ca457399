"""Every address and every endpoint, walked by an operator of another team: nothing of the crawl
changes, its files stay closed, and what viewers read is read.

A new route that names a crawl in its path falls into the walk; one that changes something without
naming a crawl needs its row in ELSEWHERE, or the first test fails.
"""

from __future__ import annotations

import json
import re

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, User
from django.core import signing
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse

from allocation.services import create_pool
from crawling.dashboard.base.undo import SALT
from crawling.jobs.enqueue import open_job
from crawling.jobs.kinds import job_kinds
from crawling.models import (
    AllowedDirectory,
    AllowedNetwork,
    CrawlJob,
    DeletedItem,
    Host,
    OrderTemplate,
    Run,
    RunState,
    Schedule,
    Team,
    TeamRule,
)
from crawling.models.inquiries import QUESTIONS as QUESTION_NAMES
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.revisions import edit_crawl
from crawling.runs.crawls.schedules import remove_schedule, set_schedule
from crawling.runs.crawls.share_links import create_share_link
from crawling.runs.crawls.teams import set_team_rule
from crawling.runs.crawls.templates import remove_template, save_template
from crawling.runs.housekeeping.deletion import request_deletion
from crawling.runs.housekeeping.run_removal import request_removal
from crawling.runs.start import start_run
from crawling.runs.steering import abort
from crawling.uses.collections.changes import (
    CollectionFields,
    add_members,
    create_collection,
)
from crawling.uses.collections.share_links import create_link
from crawling.uses.extraction.extractors import (
    edit_extractor,
    remove_extractor,
    save_extractor,
)
from crawling.uses.extraction.models import Extractor
from crawling.uses.seed_sources.sources import SeedSourceFields, create_source
from crawling.uses.watches.watching import WatchFields, create_watch
from crawlsite.administration.accounts import make_roles
from crawlsite.models import ApiToken
from crawlsite.tokens import make_token
from experiments.store import make_experiment
from tests.crawling.conftest import CLASSES
from tests.test_roles import ADMINISTRATOR, BODIES, OPERATOR, PATHS, ROUTES, VIEWER

SAFE = {"GET", "HEAD"}
ROOTS = ("/crawls/%(", "/api/v1/crawls/%(")
OWN = "of the user who asks"
NEW = "makes something of the user's own"
ALL = "of the whole installation, and takes nothing from the crawls of others"
QUESTION = "asks and changes nothing"
BELOW = "names crawls in its body or by an item: has a test below"
#: what operators may ask for without naming a crawl in the path, though it changes something or is
#: closed to viewers
ELSEWHERE = {
    "POST crawls/bulk/": BELOW,
    "GET crawls/schedules/many/": QUESTION,
    "POST crawls/schedules/many/": BELOW,
    "POST crawls/undo/": BELOW,
    "POST crawls/new/for/": QUESTION,
    "GET collections/new/": QUESTION,
    "POST collections/new/": NEW,
    "GET collections/add/": QUESTION,
    "POST collections/add/": BELOW,
    "GET collections/<int:pk>/edit/": BELOW,
    "POST collections/<int:pk>/edit/": BELOW,
    "GET collections/<int:pk>/delete/": BELOW,
    "POST collections/<int:pk>/delete/": BELOW,
    "POST collections/<int:pk>/add-crawl/": BELOW,
    "POST collections/<int:pk>/remove/": BELOW,
    "POST collections/<int:pk>/undo/": BELOW,
    "GET collections/<int:pk>/share/": BELOW,
    "POST collections/<int:pk>/share/": BELOW,
    "POST collections/<int:pk>/share/<int:number>/revoke/": BELOW,
    "POST collections/<int:pk>/wacz/": BELOW,
    "GET collections/<int:pk>/collection.wacz": BELOW,
    "POST api/v1/collections": NEW,
    "PATCH api/v1/collections/<collection_id>": BELOW,
    "DELETE api/v1/collections/<collection_id>": BELOW,
    "POST api/v1/collections/<collection_id>/members": BELOW,
    "DELETE api/v1/collections/<collection_id>/members/<member_id>": BELOW,
    "POST api/v1/collections/<collection_id>/wacz": BELOW,
    "GET api/v1/collections/<collection_id>/wacz/export": BELOW,
    "GET api/v1/collections/<collection_id>/share-links": BELOW,
    "POST api/v1/collections/<collection_id>/share-links": BELOW,
    "DELETE api/v1/collections/<collection_id>/share-links/<link_id>": BELOW,
    "POST crawls/new/extractor/": NEW,
    "GET crawls/extractors/new/": QUESTION,
    "POST crawls/extractors/new/": NEW,
    "POST crawls/extractors/<int:pk>/": BELOW,
    "GET crawls/extractors/<int:pk>/remove/": QUESTION,
    "POST crawls/extractors/<int:pk>/remove/": BELOW,
    "POST crawls/extractors/<int:pk>/restore/": BELOW,
    "POST crawls/extractors/<int:pk>/crawls/": BELOW,
    "POST api/v1/extractors": NEW,
    "PATCH api/v1/extractors/<extractor_id>": BELOW,
    "DELETE api/v1/extractors/<extractor_id>": BELOW,
    "POST api/v1/extractors/<extractor_id>/crawls": BELOW,
    "POST alerts/weekly-summary/": OWN,
    "PUT api/v1/weekly-summary": OWN,
    "POST attention/read/": OWN,
    "POST api/v1/news/mark-read": OWN,
    "POST api/v1/bulk-actions/export": QUESTION,
    "POST crawls/jobs/<int:pk>/cancel/": BELOW,
    "POST crawls/jobs/<int:pk>/run-again/": BELOW,
    "POST crawls/imports/": NEW,
    "POST crawls/inquiries/<int:inquiry_id>/cancel/": OWN,
    "POST crawls/inquiries/<int:inquiry_id>/ask-again/": OWN,
    "POST crawls/views/": OWN,
    "GET crawls/new/": BELOW,
    "POST crawls/new/": NEW,
    "POST crawls/test-fetch/": QUESTION,
    "GET crawls/test-fetch/<int:inquiry_id>/": OWN,
    "POST crawls/test-scope/": QUESTION,
    "POST crawls/check/": QUESTION,
    "POST crawls/deleted/<str:kind>/<int:pk>/restore/": BELOW,
    "POST crawls/deleted/<str:kind>/<int:pk>/remove/": BELOW,
    "POST crawls/templates/<int:pk>/remove/": BELOW,
    "POST account/tokens/": OWN,
    "POST account/tokens/<int:pk>/revoke/": OWN,
    "POST account/password/": OWN,
    "POST account/preferences/": OWN,
    "POST account/refresh/": OWN,
    "POST account/look/": OWN,
    "POST resources/what-if/": QUESTION,
    "POST dns/^(?P<deed>retry|pin|unpin)/$": ALL,
    "POST experiments/": ALL,
    "POST experiments/<int:pk>/cancel/": BELOW,
    "POST api/v1/crawls": NEW,
    "POST api/v1/jobs/<job_id>/cancel": BELOW,
    "POST api/v1/jobs/<job_id>/run-again": BELOW,
    "POST api/v1/imports": NEW,
    "POST api/v1/imports/<import_id>/cancel": OWN,
    "POST api/v1/inquiries/<inquiry_id>/cancel": OWN,
    "POST api/v1/inquiries/<inquiry_id>/ask-again": OWN,
    "POST api/v1/bulk-actions": BELOW,
    "POST api/v1/views": OWN,
    "DELETE api/v1/views/<view_id>": OWN,
    "POST api/v1/drafts/test-scope": QUESTION,
    "POST api/v1/drafts/check": QUESTION,
    "POST api/v1/drafts/test-fetches": QUESTION,
    "GET api/v1/drafts/test-fetches/<test_fetch_id>": OWN,
    "DELETE api/v1/templates/<template_id>": BELOW,
    "POST api/v1/templates/<template_id>/crawls": NEW,
    "POST api/v1/tokens": OWN,
    "DELETE api/v1/tokens/<token_id>": OWN,
    "PUT api/v1/preferences": OWN,
    "POST api/v1/pools/<pool_id>/what-if": QUESTION,
    "POST api/v1/banker/check": QUESTION,
    "POST api/v1/dns/names/<name>/<action>": ALL,
    "POST api/v1/experiments": ALL,
    "POST api/v1/experiments/<experiment_id>/cancel": BELOW,
    "DELETE api/v1/deleted/<kind>/<item_id>": BELOW,
    "POST api/v1/deleted/<kind>/<item_id>/restore": BELOW,
}
#: what changes what all crawls fetch and send: closed to operators by the rule of teams alone
OF_ALL_CRAWLS = {
    "POST crawls/blocklist/",
    "POST hosts/<int:pk>/block/",
    "GET administration/identity/",
    "POST administration/identity/",
    "POST api/v1/blocklist",
    "PUT api/v1/hosts/<host_id>/block",
    "PUT api/v1/identity",
}
#: refuse and describe for themselves, whatever the method
OF_NINJA = {"api/v1/openapi.json", "api/v1/docs"}
#: questions of users are theirs, also about the crawls of others
QUESTIONS = f"kind IN ({', '.join(map(repr, QUESTION_NAMES))})"
SEED = "http://127.0.0.1:8900/"


def names_crawl(route: str) -> bool:
    return PATHS[route].startswith(ROOTS)


def test_each_route_that_operators_change_something_by_names_a_crawl_or_has_its_row():
    found = {
        f"{method} {route}"
        for route, methods in ROUTES.items()
        if not names_crawl(route)
        and not route.startswith(("admin/", "log"))
        and route not in OF_NINJA
        for method, least in methods.items()
        if least in (VIEWER, OPERATOR) and (method not in SAFE or least == OPERATOR)
    }

    assert found == set(ELSEWHERE)


def test_each_route_of_a_crawl_names_it_first_in_its_path():
    """So that its user's permissions are those for the crawl."""
    of_crawls = {
        route
        for route in PATHS
        if not route.startswith("admin/")
        and re.search(r"crawls/(\^\(\?P)?<(int:)?(pk|crawl|crawl_id)>", route)
    }

    assert len(of_crawls) > 150
    assert {route for route in of_crawls if not names_crawl(route)} == set()


@pytest.fixture
def teams(db, settings, tmp_path) -> dict[str, User]:
    """A viewer, an administrator, and operators of two teams and of none."""
    settings.API_REQUESTS_A_MINUTE = 1_000_000
    settings.IMPORT_DIR = tmp_path
    AllowedDirectory.objects.create(path=str(tmp_path))
    return made_teams()


def made_teams() -> dict[str, User]:
    """With a pool, and permission for loopback."""
    make_roles()
    create_pool(name="default", classes=CLASSES)
    AllowedNetwork.objects.create(network="127.0.0.0/8", port_from=1024, port_to=65535)
    users = {}
    for name, role in (
        ("ada", "operator"),
        ("mate", "operator"),
        ("ben", "operator"),
        ("loner", "operator"),
        ("viewer", "viewer"),
        ("administrator", "administrator"),
    ):
        users[name] = User.objects.create_user(name)
        users[name].groups.add(Group.objects.get(name=role))
    Team.objects.create(name="Press").members.set([users["ada"], users["mate"]])
    Team.objects.create(name="Maps").members.set([users["ben"]])
    return users


@pytest.fixture
def crawl(teams, tmp_path) -> CrawlJob:
    """Of ada and the team Press, with a run, a share link, a watch and a source of seeds."""
    order = {"name": "Books", "seeds": [SEED], "team": "Press"}
    made = create_crawl(order, by=teams["ada"])
    start_run(made, by=teams["ada"])
    return made


@pytest.fixture
def values(crawl, teams, tmp_path) -> dict[str, object]:
    """The values for the names in paths, of things that the crawl has."""
    link, _ = create_share_link(crawl, days=7, by=teams["ada"])
    watch = create_watch(crawl, WatchFields("host", "a.test"), by=teams["ada"])
    source = create_source(crawl, SeedSourceFields("feed", f"{SEED}feed.xml"), by=teams["ada"])
    set_schedule(crawl, {"every_minutes": 60}, by=teams["ada"])
    return {
        "/share/": link.pk,
        "/watches/": watch.pk,
        "/seeds/sources/": source.pk,
        "link_id": link.pk,
        "watch_id": watch.pk,
        "source_id": source.pk,
        "verb": "pause",
        "kind": "csv",
        "data": "text",
        "ending": "txt",
    }


def walk(client: Client, crawl: CrawlJob, values, which, *, undo: bool = False, **extra):
    """Ask every route of crawls by every method that is one of `which`, a predicate of route and
    least role; the answers by method and route.
    """
    answers = {}
    for route, methods in ROUTES.items():
        for method, least in methods.items():
            if not names_crawl(route) or not which(route, least):
                continue
            before = transaction.savepoint()
            answers[method, route] = ask(client, method, route, crawl, values, **extra)
            if undo:
                transaction.savepoint_rollback(before)
    return answers


def everything(route: str, least) -> bool:
    return True


def read(route: str, least) -> bool:
    return least == VIEWER


def acts(route: str, least) -> bool:
    return least > VIEWER


def acts_in_json(route: str, least) -> bool:
    return least > VIEWER and route.startswith("api/")


def ask(client: Client, method: str, route: str, crawl: CrawlJob, values, **extra):
    names = re.findall(r"%\((\w+)\)s", PATHS[route])
    first, *others = names
    known = next((pk for part, pk in values.items() if part in route), 1)
    values = values | ({"kind": "wacz"} if "/jobs/" in route else {})
    path = PATHS[route] % ({first: crawl.pk} | {name: values.get(name, known) for name in others})
    is_json = route.startswith("api/") and method != "GET"
    body = {"data": BODIES.get(f"{method} {route}", {})}
    body |= {"content_type": "application/json"} if is_json else {}
    answer = getattr(client, method.lower())(path, **body, **extra)
    if answer.streaming:
        b"".join(answer.streaming_content)  # or it keeps its place among the downloads
    return answer


def state() -> dict[str, str]:
    """A digest of the rows of every table of crawls, and of the audit log."""
    tables = [
        model._meta.db_table
        for label in ("crawling", "allocation", "alerts", "collections", "watches")
        for model in apps.get_app_config(label).get_models()
        if not model._meta.proxy
    ]
    with connection.cursor() as cursor:
        found = {}
        for table in [*tables, "django_admin_log"]:
            rows = f'SELECT t::text AS row FROM "{table}" t'
            if table == "crawling_backgroundjob":
                rows += f" WHERE NOT {QUESTIONS}"
            cursor.execute(f"SELECT md5(string_agg(row, chr(10) ORDER BY row)) FROM ({rows}) r")
            found[table] = cursor.fetchone()[0]
    return found


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def bearer(user: User) -> dict[str, object]:
    token = make_token(user, f"walk {ApiToken.objects.count()}")
    return {"headers": {"Authorization": f"Bearer {token}"}}


def misfits(answers, viewers) -> list[str]:
    """Answers to an operator of another team that are not those of a viewer, or that do not say who
    acts on the crawl.
    """
    found = []
    for (method, route), answer in answers.items():
        least = ROUTES[route][method]
        said = "" if answer.streaming else answer.content.decode(errors="replace")
        if least == VIEWER:
            fits = answer.status_code == viewers[method, route].status_code
            # a page whose POST takes more than its GET
            fits = fits and (answer.status_code != 403 or method not in SAFE)
        else:
            fits = answer.status_code == 403
            fits = fits and (least == ADMINISTRATOR or "its owner ada" in said)
        if not fits:
            found.append(f"{method} {route}: {answer.status_code}")
    return found


@pytest.mark.parametrize("name", ["ben", pytest.param("loner", marks=pytest.mark.drill)])
def test_an_operator_of_another_team_reads_as_a_viewer_and_changes_nothing(
    teams, crawl, values, name
):
    viewers = walk(client_of(teams["viewer"]), crawl, values, read, undo=True)
    before = state()

    answers = walk(client_of(teams[name]), crawl, values, everything)

    assert misfits(answers, viewers) == []
    assert state() == before
    assert len(answers) > 200


def test_a_token_of_such_an_operator_opens_no_more(teams, crawl, values):
    before = state()

    answers = walk(Client(), crawl, values, acts_in_json, **bearer(teams["ben"]))

    assert misfits(answers, {}) == []
    assert state() == before
    assert len(answers) > 40


@pytest.mark.parametrize(
    "name", ["ada", "mate", pytest.param("administrator", marks=pytest.mark.drill)]
)
def test_the_owner_the_team_and_administrators_are_refused_nothing_that_their_role_permits(
    teams, crawl, values, name
):
    answers = walk(client_of(teams[name]), crawl, values, acts, undo=True)

    role = ADMINISTRATOR if name == "administrator" else OPERATOR
    refused = {
        (method, route)
        for (method, route), answer in answers.items()
        if answer.status_code == 403 and ROUTES[route][method] <= role
    }
    # who hands a crawl over is narrower: its owner does
    owner = {("POST", "crawls/<int:pk>/owner/"), ("PUT", "api/v1/crawls/<crawl_id>/owner")}
    assert refused == (owner if name == "mate" else set())
    # 404: what the crawl does not have
    done = sum(200 <= answer.status_code < 400 for answer in answers.values())
    assert done > 55


def ask_for_all(user: User, host: Host) -> dict[str, tuple[int, str]]:
    """Status and text of the answer to each of OF_ALL_CRAWLS."""
    client, found = client_of(user), {}
    for asked in OF_ALL_CRAWLS:
        method, _, route = asked.partition(" ")
        body = BODIES.get(asked, {})
        kind = {"content_type": "application/json"} if route.startswith("api/") else {}
        path = PATHS[route] % {"pk": host.pk, "host_id": host.pk}
        answer = getattr(client, method.lower())(path, body, **kind)
        found[asked] = answer.status_code, answer.content.decode()
    return found


def test_what_concerns_the_crawls_of_all_is_for_administrators(teams, crawl):
    host, before = Host.objects.create(name="a.test"), state()

    refused = ask_for_all(teams["ada"], host)
    unchanged = state()
    set_team_rule(own_crawls_only=False, by=teams["administrator"])
    open_to_all = ask_for_all(teams["ada"], host)

    assert {status for status, _ in refused.values()} == {403}
    assert all("only administrators do it" in said for _, said in refused.values())
    assert unchanged == before
    assert {asked for asked, (status, _) in open_to_all.items() if status == 403} == set()


def test_pages_offer_no_operator_what_concerns_the_crawls_of_all(teams, crawl):
    host = Host.objects.create(name="a.test")
    pages = ["/crawls/blocklist/", f"/hosts/{host.pk}/"]
    forms = ["Add to the blocklist", "Block for all crawls", "/administration/identity/"]

    def shown(name: str) -> list[str]:
        client = client_of(teams[name])
        text = "".join(client.get(page).content.decode() for page in pages)
        return [form for form in forms if form in text]

    assert shown("ada") == []
    assert shown("administrator") == forms


def test_a_job_is_cancelled_and_run_again_by_those_who_act_on_its_crawl(teams, crawl):
    run = crawl.runs.first() or start_run(crawl)
    job = open_job(job_kinds()["extraction"], run, {"rules": {"title": "title"}}, by=None)
    before = state()

    refused = [
        call(teams["ben"], "POST", f"jobs/{job.pk}/{verb}").status_code
        for verb in ("cancel", "run-again")
    ]
    pages = [
        client_of(teams["ben"]).post(f"/crawls/jobs/{job.pk}/{verb}/").status_code
        for verb in ("cancel", "run-again")
    ]

    assert refused + pages == [403] * 4
    assert state() == before
    assert call(teams["mate"], "POST", f"jobs/{job.pk}/cancel").status_code == 200
    assert call(teams["ada"], "POST", f"jobs/{job.pk}/run-again").status_code == 202


def test_an_experiment_is_cancelled_by_its_maker_and_administrators(teams):
    made = make_experiment(
        requests=10, bound_seconds=1, seed=1, policies=["banker"], by=teams["ada"]
    )

    refused = [
        call(teams["ben"], "POST", f"experiments/{made.pk}/cancel"),
        client_of(teams["ben"]).post(f"/experiments/{made.pk}/cancel/"),
    ]
    pages = [
        client_of(teams[name]).get(f"/experiments/{made.pk}/").content.decode()
        for name in ("ben", "ada")
    ]

    assert [answer.status_code for answer in refused] == [403, 403]
    assert "ada asked for experiment" in refused[0].json()["detail"]
    assert ["Cancel" in page for page in pages] == [False, True]
    assert call(teams["administrator"], "POST", f"experiments/{made.pk}/cancel").status_code == 200


def test_the_rule_can_be_lifted(teams, crawl):
    set_team_rule(own_crawls_only=False, by=teams["administrator"])

    answer = call(teams["ben"], "PATCH", f"crawls/{crawl.pk}", {"max_pages": 5})

    assert answer.status_code == 200


@pytest.mark.parametrize(
    "spelling",
    ["{}", "0{}", "+{}", "%20{}", "{}.0", "{}%20", "{}_", "０{}", "1_{}", "{}%2F", "-{}"],
)
def test_no_spelling_of_its_number_opens_a_crawl(teams, crawl, spelling):
    path = spelling.format(crawl.pk)

    answer = Client().post(f"/api/v1/crawls/{path}/abort", **bearer(teams["ben"]))
    page = client_of(teams["ben"]).post(f"/crawls/{path}/abort/")

    assert answer.status_code in (403, 404, 422)
    assert page.status_code in (403, 404)
    assert Run.objects.get(crawl=crawl).aborted_at is None


def call(user: User, method: str, path: str, body: object = None):
    return Client().generic(
        method,
        f"/api/v1/{path}",
        "" if body is None else json.dumps(body),
        content_type="application/json",
        **bearer(user),
    )


def test_a_collection_of_another_team_is_read_and_nothing_of_it_changes(teams, crawl):
    collection = create_collection(CollectionFields("Town", team="Press"), by=teams["ada"])
    add_members(collection, crawls=[crawl.pk], by=teams["ada"])
    link, _ = create_link(collection, days=7, by=teams["ada"])
    numbers = {"number": link.pk, "link_id": link.pk, "member_id": collection.members.get().pk}
    before = state()

    def told(name: str, method: str, route: str) -> int:
        names = re.findall(r"%\((\w+)\)s", PATHS[route])
        path = PATHS[route] % {one: numbers.get(one, collection.pk) for one in names}
        kind = {"content_type": "application/json"} if route.startswith("api/") else {}
        body = BODIES.get(f"{method} {route}", {})
        return getattr(client_of(teams[name]), method.lower())(path, body, **kind).status_code

    asked = [
        (method, route, least)
        for route, methods in ROUTES.items()
        if route.startswith(("collections/<", "api/v1/collections/<"))
        for method, least in methods.items()
    ]
    answers = {(method, route): told("ben", method, route) for method, route, _ in asked}
    undone = {("POST", "collections/<int:pk>/undo/"), ("POST", "collections/<int:pk>/add-crawl/")}

    assert state() == before
    assert {
        (method, route)
        for method, route, least in asked
        if least == OPERATOR and answers[method, route] != 403
    } == undone  # an undo has a signed act of its user, and here the other names no crawl
    assert {answers[method, route] for method, route, least in asked if least == VIEWER} == {200}
    assert told("ben", "POST", "collections/<int:pk>/edit/") == 403
    assert told("mate", "POST", "collections/<int:pk>/edit/") == 302


def test_an_action_on_many_crawls_leaves_those_of_other_teams_alone(teams, crawl):
    own = create_crawl({"name": "Own", "seeds": [SEED]}, by=teams["ben"])
    start_run(own, by=teams["ben"])
    both = {"crawls": [crawl.pk, own.pk]}
    before = CrawlJob.objects.get(pk=crawl.pk).tags

    told = [
        call(teams["ben"], "POST", "bulk-actions", {**both, **asked}).json()
        for asked in ({"action": "tag", "tags": ["x"]}, {"action": "stop"})
    ]

    assert [one["changed"] for one in told] == [1, 1]
    assert all("its owner ada" in one["refused"][0] for one in told)
    assert CrawlJob.objects.get(pk=crawl.pk).tags == before
    assert Run.objects.get(crawl=crawl).state == RunState.QUEUED


def test_an_action_on_all_that_a_filter_finds_takes_those_one_may_act_on(teams, crawl):
    own = create_crawl({"name": "Own", "seeds": [SEED]}, by=teams["ben"])
    start_run(own, by=teams["ben"])

    asked = {"action": "tag", "filter": {}, "tags": ["x"]}
    told = call(teams["ben"], "POST", "bulk-actions", asked).json()
    form = {"action": "abort", "which": "all", "next": "/crawls/", "confirmed": "yes"}
    client_of(teams["ben"]).post("/crawls/bulk/", form)

    assert (told["chosen"], told["changed"], told["refused"]) == (1, 1, [])
    assert Run.objects.get(crawl=crawl).aborted_at is None
    assert Run.objects.get(crawl=own).aborted_at is not None


def test_schedules_of_many_crawls_and_what_takes_them_back_leave_others_alone(teams, crawl):
    own = create_crawl({"name": "Own", "seeds": [SEED]}, by=teams["ben"])
    form = {"repeat": "day", "at": "03:00", "is_on": "on", "save": "1", "crawl": [crawl.pk]}
    undone = signing.dumps(
        [teams["ben"].pk, [{"action": "unschedule", "crawls": [crawl.pk]}]], salt=SALT
    )
    set_schedule(crawl, {"every_minutes": 60}, by=teams["ada"])

    client = client_of(teams["ben"])
    client.post("/crawls/schedules/many/", form)
    client.post("/crawls/undo/", {"acts": undone})

    assert Schedule.objects.get().timing["every_minutes"] == 60
    client.post("/crawls/schedules/many/", {**form, "crawl": [crawl.pk, own.pk]})
    assert {one.crawl: one.timing["every_minutes"] for one in Schedule.objects.all()} == {
        crawl: 60,
        own: None,
    }


def deleted_things(crawl: CrawlJob, ada: User) -> list[tuple[str, int, str]]:
    """A crawl, a run, a schedule and a template that ada has deleted: kind, number, name."""
    gone = create_crawl({"name": "Gone", "seeds": [SEED], "team": "Press"}, by=ada)
    request_deletion(gone, by=ada)
    abort(crawl, by=ada)
    run = crawl.runs.get()
    Run.objects.filter(pk=run.pk).update(state=RunState.STOPPED)
    run.refresh_from_db()
    request_removal(run, by=ada)
    set_schedule(crawl, {"every_minutes": 60}, by=ada)
    remove_schedule(crawl, by=ada)
    remove_template(save_template(crawl, "Kept", by=ada), by=ada)
    items = [(item.kind, item.pk, item.name) for item in DeletedItem.objects.all()]
    return [("crawl", gone.pk, gone.name), ("run", run.pk, str(run)), *items]


def test_what_a_team_has_deleted_is_restored_or_deleted_for_good_by_it_alone(teams, crawl):
    things = deleted_things(crawl, teams["ada"])
    before = state()
    ben = client_of(teams["ben"])

    pages = [
        client_of(teams[name]).get("/crawls/deleted/").content.decode() for name in ("ben", "ada")
    ]
    answers = [
        answer.status_code
        for kind, pk, name in things
        for answer in (
            ben.post(f"/api/v1/deleted/{kind}/{pk}/restore"),
            ben.delete(f"/api/v1/deleted/{kind}/{pk}?name={name}"),
            ben.post(reverse("crawling:restore-deleted", args=[kind, pk])),
            ben.post(reverse("crawling:remove-deleted", args=[kind, pk]), {"name": name}),
        )
    ]

    assert {kind for kind, _, _ in things} == {"crawl", "run", "schedule", "template"}
    assert ["/restore/" in page for page in pages] == [False, True]
    assert set(answers) == {403}
    assert state() == before
    ada = client_of(teams["ada"])
    done = [ada.post(f"/api/v1/deleted/{kind}/{pk}/restore").status_code for kind, pk, _ in things]
    assert done == [200] * 4
    assert OrderTemplate.objects.get().created_by == teams["ada"]


def test_a_template_is_used_by_all_and_deleted_by_its_maker(teams, crawl):
    template = save_template(crawl, "Kept", by=teams["ada"])
    ben = client_of(teams["ben"])

    pages = [
        client_of(teams[name]).get("/crawls/templates/").content.decode() for name in ("ben", "ada")
    ]
    refused = [
        ben.delete(f"/api/v1/templates/{template.pk}"),
        ben.post(f"/crawls/templates/{template.pk}/remove/"),
    ]

    assert ["Delete the template" in page for page in pages] == [False, True]
    assert [answer.status_code for answer in refused] == [403, 403]
    assert "ada made the template Kept" in refused[0].json()["detail"]
    assert OrderTemplate.objects.filter(pk=template.pk).exists()


def test_an_extractor_is_used_by_all_and_changed_by_its_maker(teams, crawl):
    one = save_extractor("Books", {"title": "h1"}, by=teams["ada"])
    edit_crawl(crawl, {"extractor": "Books"}, by=teams["ada"])
    one = edit_extractor(one, {"title": "h2"}, by=teams["ada"])
    ben = client_of(teams["ben"])
    of_ben = create_crawl({"name": "Own", "seeds": [SEED], "extractor": "Books@1"}, by=teams["ben"])

    body, json = {"rules": {"title": "h3"}}, "application/json"
    refused = [
        ben.patch(f"/api/v1/extractors/{one.pk}", body, content_type=json),
        ben.delete(f"/api/v1/extractors/{one.pk}"),
        ben.post(f"/crawls/extractors/{one.pk}/remove/"),
    ]
    tried = ben.post(f"/crawls/extractors/{one.pk}/", {"rules": "title = h3"})
    given = ben.post(f"/api/v1/extractors/{one.pk}/crawls")
    remove_extractor(one, by=teams["ada"])
    refused.append(ben.post(f"/crawls/extractors/{one.pk}/restore/"))

    assert [answer.status_code for answer in refused] == [403] * 4
    assert tried.status_code in (403, 422)
    assert given.json() == {"crawls": 1, "refused": []}
    orders = {each.name: each.extractor for each in CrawlJob.objects.all()}
    assert orders == {crawl.name: "Books@1", of_ben.name: "Books@2"}
    assert Extractor.objects.get().rules == {"title": "h2"}


def test_the_form_of_a_new_crawl_copies_no_crawl_of_another_team(teams, crawl):
    assert client_of(teams["ben"]).get(f"/crawls/new/?clone={crawl.pk}").status_code == 403
    assert client_of(teams["mate"]).get(f"/crawls/new/?clone={crawl.pk}").status_code == 200


def test_lists_and_pages_have_no_buttons_that_would_be_refused(teams, crawl):
    ben, ada = client_of(teams["ben"]), client_of(teams["ada"])
    create_crawl({"name": "Own", "seeds": [SEED]}, by=teams["ben"])

    listed = ben.get("/crawls/").content.decode()
    page = ben.get(f"/crawls/{crawl.pk}/").content.decode()

    assert 'aria-label="Choose Own"' in listed
    assert 'aria-label="Choose Books"' not in listed
    assert f"/crawls/{crawl.pk}/stop/" not in listed + page
    assert f"?clone={crawl.pk}" not in listed + page
    assert "its owner ada, the members of the team Press and administrators act on it" in page
    assert f"/crawls/{crawl.pk}/stop/" in ada.get("/crawls/").content.decode()


def test_a_crawl_without_owner_and_team_is_for_all_operators_and_with_a_team_for_its_members(
    teams, crawl
):
    free = create_crawl({"name": "Free", "seeds": [SEED]})
    of_team = create_crawl({"name": "Of Maps", "seeds": [SEED], "team": "Maps"})

    def told(name: str, one: CrawlJob) -> int:
        return (
            client_of(teams[name])
            .patch(f"/api/v1/crawls/{one.pk}", {"max_pages": 5}, content_type="application/json")
            .status_code
        )

    assert [told(name, free) for name in ("ada", "ben", "loner")] == [200, 200, 200]
    assert [told(name, of_team) for name in ("ada", "ben", "loner")] == [403, 200, 403]


def test_who_leaves_a_team_acts_on_its_crawls_no_more(teams, crawl):
    path = f"/api/v1/crawls/{crawl.pk}/pause"
    mate = client_of(teams["mate"])
    assert mate.post(path).status_code == 200

    Team.objects.get(name="Press").members.remove(teams["mate"])

    assert mate.post(path).status_code == 403


def test_administrators_set_the_rule_on_the_page_of_teams_and_by_the_api_and_it_is_noted(teams):
    client = client_of(teams["administrator"])

    client.post("/administration/teams/rule/", {"crawls": "all"})
    page = client.get("/administration/teams/").content.decode()
    told = client.put(
        "/api/v1/team-rule", {"own_crawls_only": True}, content_type="application/json"
    ).json()
    log = client.get("/administration/activity/").content.decode()

    assert '<option value="all" selected>' in page
    assert told == {"own_crawls_only": True}
    assert TeamRule.objects.get().own_crawls_only
    assert "own_crawls_only" in log

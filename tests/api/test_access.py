"""The permissions of each role: every endpoint, walked through the description, as each role and by
each way to log in.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import cache

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.utils import timezone

from allocation.services import ensure_share
from crawling.installation.permissions import OF_ALL
from crawling.runs.crawls.creation import create_crawl
from crawlsite.administration.accounts import ROLES, role_of
from crawlsite.api.root import api
from crawlsite.models import ApiToken
from crawlsite.tokens import make_token
from tests.api.conftest import SEED, Program

#: what an endpoint asks for, if not by its method
SPECIAL = {
    ("post", "/api/v1/crawls"): "crawling.add_crawljob",
    ("post", "/api/v1/imports"): "crawling.add_crawljob",
    ("post", "/api/v1/crawls/{crawl_id}/clone"): "crawling.add_crawljob",
    ("post", "/api/v1/crawls/{crawl_id}/test-scope"): "crawling.view_crawljob",
    ("post", "/api/v1/crawls/{crawl_id}/copies/texts"): "crawling.view_crawljob",
    ("post", "/api/v1/crawls/{crawl_id}/preview"): "crawling.view_crawljob",
    ("post", "/api/v1/crawls/{crawl_id}/robots-exceptions"): "crawling.add_robotsexception",
    (
        "delete",
        "/api/v1/crawls/{crawl_id}/robots-exceptions/{exception_id}",
    ): "crawling.add_robotsexception",
    ("post", "/api/v1/crawls/{crawl_id}/withdrawals"): "crawling.delete_crawljob",
    ("post", "/api/v1/crawls/{crawl_id}/withdrawals/preview"): "crawling.delete_crawljob",
    (
        "post",
        "/api/v1/crawls/{crawl_id}/withdrawals/{withdrawal_id}/rewrite",
    ): "crawling.delete_crawljob",
    (
        "delete",
        "/api/v1/crawls/{crawl_id}/seed-sources/{source_id}",
    ): "crawling.change_crawljob",
    ("delete", "/api/v1/crawls/{crawl_id}/watches/{watch_id}"): "crawling.change_crawljob",
    ("post", "/api/v1/extractors"): "crawling.add_crawljob",
    ("post", "/api/v1/collections"): "crawling.change_crawljob",
    ("patch", "/api/v1/collections/{collection_id}"): "crawling.change_crawljob",
    ("delete", "/api/v1/collections/{collection_id}"): "crawling.change_crawljob",
    ("post", "/api/v1/collections/{collection_id}/members"): "crawling.change_crawljob",
    (
        "delete",
        "/api/v1/collections/{collection_id}/members/{member_id}",
    ): "crawling.change_crawljob",
    ("post", "/api/v1/collections/{collection_id}/wacz"): "crawling.change_crawljob",
    ("get", "/api/v1/collections/{collection_id}/wacz/export"): "crawling.change_crawljob",
    ("get", "/api/v1/collections/{collection_id}/share-links"): "crawling.change_crawljob",
    ("post", "/api/v1/collections/{collection_id}/share-links"): "crawling.change_crawljob",
    (
        "delete",
        "/api/v1/collections/{collection_id}/share-links/{link_id}",
    ): "crawling.change_crawljob",
    ("get", "/api/v1/blocklist"): "crawling.view_crawljob",
    ("post", "/api/v1/blocklist"): "crawling.add_blocklistentry",
    ("delete", "/api/v1/blocklist/{entry_id}"): "crawling.delete_blocklistentry",
    ("post", "/api/v1/experiments"): "crawling.add_crawljob",
    ("post", "/api/v1/experiments/{experiment_id}/cancel"): "crawling.add_crawljob",
    ("post", "/api/v1/inquiries/{inquiry_id}/cancel"): "crawling.view_crawljob",
    ("post", "/api/v1/inquiries/{inquiry_id}/ask-again"): "crawling.view_crawljob",
    ("get", "/api/v1/hosts/{host_id}/name-wait"): "dnscache.view_dnsentry",
    ("post", "/api/v1/drafts/test-scope"): "crawling.add_crawljob",
    ("post", "/api/v1/drafts/check"): "crawling.add_crawljob",
    ("get", "/api/v1/crawls/{crawl_id}/share-links"): "crawling.change_crawljob",
    ("get", "/api/v1/crawls/{crawl_id}/wacz/export"): "crawling.change_crawljob",
    ("get", "/api/v1/crawls/{crawl_id}/mirror/export"): "crawling.change_crawljob",
    ("get", "/api/v1/crawls/{crawl_id}/latest-mirror/export"): "crawling.change_crawljob",
    ("delete", "/api/v1/crawls/{crawl_id}/share-links/{link_id}"): "crawling.change_crawljob",
    ("post", "/api/v1/drafts/test-fetches"): "crawling.add_crawljob",
    ("get", "/api/v1/drafts/test-fetches/{test_fetch_id}"): "crawling.add_crawljob",
    ("post", "/api/v1/crawls/{crawl_id}/templates"): "crawling.add_crawljob",
    ("post", "/api/v1/templates/{template_id}/crawls"): "crawling.add_crawljob",
    ("put", "/api/v1/hosts/{host_id}/block"): "crawling.add_blocklistentry",
    ("delete", "/api/v1/hosts/{host_id}/block"): "crawling.delete_blocklistentry",
    ("put", "/api/v1/identity"): "crawling.change_identity",
    ("post", "/api/v1/replay/install"): "crawling.add_allowednetwork",
    **dict.fromkeys(
        (("post", "/api/v1/tokens"), ("delete", "/api/v1/tokens/{token_id}")),
        "crawling.view_crawljob",
    ),
    **dict.fromkeys(
        (("post", "/api/v1/views"), ("delete", "/api/v1/views/{view_id}")), "crawling.view_crawljob"
    ),
    ("put", "/api/v1/preferences"): "crawling.view_crawljob",
    **dict.fromkeys(
        (
            ("delete", "/api/v1/deleted/{kind}/{item_id}"),
            ("post", "/api/v1/deleted/{kind}/{item_id}/restore"),
        ),
        "crawling.view_crawljob",
    ),
    ("delete", "/api/v1/crawls/{crawl_id}/schedule"): "crawling.change_crawljob",
    ("post", "/api/v1/banker/check"): "allocation.view_pool",
    ("post", "/api/v1/dns/flush"): "dnscache.delete_dnsentry",
    ("patch", "/api/v1/dns/servers/{name}"): "dnscache.change_dnsserver",
    ("post", "/api/v1/pools/{pool_id}/what-if"): "allocation.view_pool",
    ("get", "/api/v1/crawls/{crawl_id}/diagnosis/export"): "crawling.change_crawljob",
    ("get", "/api/v1/crawls/{crawl_id}/pages/warc"): "crawling.change_crawljob",
    ("get", "/api/v1/crawls/{crawl_id}/pages/{page_id}/warc"): "crawling.change_crawljob",
}
APPS = {
    **dict.fromkeys(
        (
            "collections",
            "crawls",
            "extractors",
            "imports",
            "jobs",
            "capacity-plan",
            "experiments",
            "url-history",
            "named-things",
            "pages",
            "page-cache",
            "search",
            "hosts",
            "overview",
            "schedules",
            "deleted",
            "health",
            "disk",
        ),
        "crawling.{}_crawljob",
    ),
    **dict.fromkeys(
        ("bulk-actions", "templates", "identity", "tokens", "views", "preferences"),
        "crawling.{}_crawljob",
    ),
    **dict.fromkeys(("", "news", "replay", "weekly-summary"), "crawling.view_crawljob"),
    "alerts": "alerts.{}_listener",
    "access-rules": "crawling.change_allowednetwork",
    "users": "auth.change_user",
    "teams": "crawling.change_team",
    "team-rule": "crawling.change_team",
    "activity": "admin.view_logentry",
    "pools": "allocation.{}_pool",
    **dict.fromkeys(("dns",), "dnscache.{}_dnsentry"),
}
#: as far as they may go
ASCENDING = ("anonymous", "nobody", *ROLES)
VERBS = {"get": "view", "post": "change", "patch": "change", "put": "change", "delete": "delete"}


@cache
def description():
    return api.get_openapi_schema()


def endpoints():
    for path, methods in description()["paths"].items():
        for method, operation in methods.items():
            body = (
                operation.get("requestBody", {})
                .get("content", {})
                .get("application/json", {})
                .get("schema")
            )
            yield method, path, body


def permission(method, path):
    return SPECIAL.get((method, path)) or APPS[path.split("/")[3]].format(VERBS[method])


def example(schema):
    """The first example that the description gives of a body."""
    if schema is None:
        return None
    for part in [schema, *schema.get("anyOf", [])]:
        name = part.get("$ref", "").rpartition("/")[2]
        found = (description()["components"]["schemas"][name] if name else part).get("examples")
        if found:
            return found[0]
    raise AssertionError(f"no example in {schema}")


def address_of(path: str, crawl: int) -> str:
    address = (
        path.removeprefix("/api/v1/")
        .replace("{crawl_id}", str(crawl))
        .replace("{pool_id}", "1")
        .replace("{name}", "example.org")
        .replace("{experiment_id}", "1")
        .replace("{action}", "pin")
        .replace("{process_id}", "1")
        .replace("{version}", "1")
        .replace("{key}", "1")
        .replace("{run_number}", "1")
        .replace("{revision_number}", "1")
        .replace("{drawing_number}", "0")
        .replace("{text_id}", "1")
        .replace("{entry_id}", "1")
        .replace("{exception_id}", "1")
        .replace("{test_fetch_id}", "1")
        .replace("{alert_id}", "1")
        .replace("{delivery_id}", "1")
        .replace("{host_id}", "1")
        .replace("{template_id}", "1")
        .replace("{import_id}", "1")
        .replace("{inquiry_id}", "1")
        .replace("{token_id}", "1")
        .replace("{view_id}", "1")
        .replace("{page_id}", "1")
        .replace("{old_id}", "1")
        .replace("{new_id}", "1")
        .replace("{kind}", "networks")
        .replace("{rule_id}", "1")
        .replace("{link_id}", "1")
        .replace("{share_id}", "1")
        .replace("{user_id}", "1")
        .replace("{team_id}", "1")
        .replace("{item_id}", "1")
        .replace("{withdrawal_id}", "1")
        .replace("{watch_id}", "1")
        .replace("{collection_id}", "1")
        .replace("{member_id}", "1")
        .replace("{extractor_id}", "1")
        .replace("{source_id}", "1")
    )
    query = {
        "/api/v1/url-history": "?url=http://a.test/",
        "/api/v1/pages": "?q=manual",
        "/api/v1/named-things": "?q=manual",
        "/api/v1/collections/{collection_id}/captures": "?url=http://a.test/",
        "/api/v1/search": "?q=manual",
        "/api/v1/crawls/{crawl_id}/changes": "?against=1",
        "/api/v1/crawls/{crawl_id}/extractions/previews": "?rules=name%20%3D%20h1",
        "/api/v1/crawls/{crawl_id}/link-changes": "?against=1",
    }.get(path, "")
    return address + query


def granted(role: str) -> set[str]:
    """The permissions of a role that count, by the rule of teams that a new installation has."""
    return set(ROLES.get(role, ())) - (OF_ALL if role == "operator" else set())


def least_role(method, path) -> str:
    return next(role for role in ROLES if permission(method, path) in granted(role))


def misfits(
    programs, crawl: int, role: str, asked: Callable[[str], bool], methods=tuple(VERBS)
) -> list[object]:
    """The endpoints that answered a role otherwise than they ought to, of those of which `asked` is
    true for the least role that they serve.
    """
    found = []
    for method, path, body in endpoints():
        if method not in methods or not asked(least_role(method, path)):
            continue
        before = transaction.savepoint()
        status, answer = programs[role](method.upper(), address_of(path, crawl), example(body))
        transaction.savepoint_rollback(before)
        if role == "anonymous":
            expected = {401}
        elif (method, path) == ("post", "/api/v1/tokens"):
            expected = {403}  # for sessions only
        elif permission(method, path) not in granted(role):
            expected = {403}
        else:
            expected = {200, 201, 202, 204, 404, 409, 422}
        if status not in expected or (status >= 400 and not answer["detail"]):
            found.append((method, path, status, answer))
    return found


@pytest.mark.parametrize("role", ASCENDING)
def test_each_endpoint_serves_the_least_who_may_and_nobody_before(programs, order, settings, role):
    settings.API_REQUESTS_A_MINUTE = 1_000_000
    crawl, rank = create_crawl(order(SEED)), ASCENDING.index(role)

    assert not misfits(programs, crawl.pk, role, lambda least: rank <= ASCENDING.index(least))


def test_the_highest_role_reads_all_that_those_before_it_read(programs, order, settings):
    settings.API_REQUESTS_A_MINUTE = 1_000_000
    crawl, role = create_crawl(order(SEED)), ASCENDING[-1]

    assert not misfits(programs, crawl.pk, role, lambda least: least != role, methods=("get",))


@pytest.mark.drill  # by all methods; those that read are asked by the test above
@pytest.mark.parametrize("role", ["operator", "administrator"])
def test_whoever_may_more_is_served_as_well(programs, order, settings, role):
    settings.API_REQUESTS_A_MINUTE = 1_000_000
    crawl, rank = create_crawl(order(SEED)), ASCENDING.index(role)

    assert not misfits(programs, crawl.pk, role, lambda least: rank > ASCENDING.index(least))


def test_the_examples_of_bodies_are_taken(programs, order, identified):
    create_crawl(order(SEED))
    bodies = {
        f"{method} {path}": example(
            operation["requestBody"]["content"]["application/json"]["schema"]
        )
        for path, methods in description()["paths"].items()
        for method, operation in methods.items()
        if "requestBody" in operation
    }

    assert len(bodies) == 61
    assert programs["operator"]("POST", "crawls", bodies["post /api/v1/crawls"])[0] == 201
    assert programs["operator"]("POST", "experiments", bodies["post /api/v1/experiments"])[0] == 201
    status, answer = programs["viewer"]("POST", "banker/check", bodies["post /api/v1/banker/check"])
    assert (status, answer["verdict"], answer["safe_sequence"]) == (200, "grant", [1, 3, 4, 0, 2])
    (pool,) = programs["viewer"].get("pools")["items"]
    status, answer = programs["viewer"](
        "POST", f"pools/{pool['id']}/what-if", bodies["post /api/v1/pools/{pool_id}/what-if"]
    )
    assert (status, answer["verdict"], answer["safe_sequence"]) == (
        200,
        "grant",
        ["one more crawl"],
    )
    share = ensure_share(pool=pool["id"], ref="press", name="Press")
    terms = bodies["patch /api/v1/pools/{pool_id}/shares/{share_id}"]
    administrator = programs["administrator"]
    assert administrator("PATCH", f"pools/{pool['id']}/shares/{share.pk}", terms)[0] == 200
    status, answer = administrator("POST", "pools", bodies["post /api/v1/pools"])
    assert status == 201, answer


def test_a_browser_changes_things_by_its_session_only_with_the_csrf_token(people, order):
    crawl = create_crawl(order(SEED))
    client = Client(enforce_csrf_checks=True)
    client.force_login(people["operator"])
    browser = Program(client=client)

    assert browser("GET", "crawls")[0] == 200
    status, problem = browser("POST", f"crawls/{crawl.pk}/start")
    assert (status, "X-CSRFToken" in problem["detail"]) == (403, True)

    client.get("/api/v1/docs")
    token = client.cookies["csrftoken"].value
    assert browser("POST", f"crawls/{crawl.pk}/start", **{"X-CSRFToken": token})[0] == 200


def test_a_wrong_token_is_refused_even_beside_a_session(people):
    client = Client()
    client.force_login(people["operator"])
    browser = Program("crawlsite_wrong", client)

    assert browser("GET", "crawls") == (
        401,
        {"detail": "The token is not known or has expired, or its user may not log in."},
    )


def test_the_token_of_somebody_who_may_not_log_in_opens_nothing(people, programs):
    people["operator"].is_active = False
    people["operator"].save()

    assert programs["operator"]("GET", "crawls")[0] == 401


def test_a_token_makes_no_token_and_says_where_to_make_one(people, programs):
    for name in ("viewer", "operator", "administrator"):
        before = set(ApiToken.objects.values_list("pk", flat=True))
        asked = {"name": "heir", "days": 1}
        status, problem = programs[name]("POST", "tokens", asked)
        assert (status, "makes no tokens. Log in" in problem["detail"]) == (403, True)
        assert set(ApiToken.objects.values_list("pk", flat=True)) == before
    status, _ = Program(client=programs["viewer"].client)("POST", "tokens", {"name": "heir"})
    assert status == 401  # the client of a token has no session


def test_a_token_that_ends_makes_no_account_and_no_password(people):
    ending = Program(make_token(people["administrator"], "for a day", days=1))
    lasting = Program(make_token(people["administrator"], "provisioning"))
    other = people["viewer"]
    other.set_password("before")
    other.save()

    for path, body in (
        ("users", {"name": "eve", "role": "administrator"}),
        (f"users/{other.pk}/password", None),
    ):
        status, problem = ending("POST", path, body)
        assert (status, "This token ends on" in problem["detail"]) == (403, True)
    for body in ({"role": "administrator"}, {"is_active": True}):
        assert ending("PATCH", f"users/{other.pk}", body)[0] == 403
    assert not User.objects.filter(username="eve").exists()
    other.refresh_from_db()
    assert other.check_password("before")
    assert role_of(other) == "viewer"
    assert ending("PATCH", f"users/{other.pk}", {"is_active": False})[0] == 200
    assert lasting("POST", "users", {"name": "eve", "role": "viewer"})[0] == 201


def test_a_token_that_reads_changes_nothing_wherever_its_user_could(people, order, settings):
    settings.API_REQUESTS_A_MINUTE = 1_000_000
    crawl = create_crawl(order(SEED))
    reader = Program(make_token(people["administrator"], "reader", reads_only=True))
    changing = [endpoint for endpoint in endpoints() if endpoint[0] != "get"]
    found = []

    for method, path, body in changing:
        status, problem = reader(method.upper(), address_of(path, crawl.pk), example(body))
        if status != 403 or "only reads" not in problem["detail"]:
            found.append((method, path, status))

    assert found == []
    assert len(changing) > 80
    assert reader.get(f"crawls/{crawl.pk}")["name"] == crawl.name


def test_tokens_are_listed_by_last_use(people):
    now = timezone.now()
    for name, hours in (("old", 9), ("new", 1), ("never", None)):
        make_token(people["viewer"], name)
        used = hours and now - timedelta(hours=hours)
        ApiToken.objects.filter(name=name).update(last_used_at=used)
    session = Program()
    session.client.force_login(people["viewer"])

    listed = [row["name"] for row in session.get("tokens")["items"]]
    page = session.client.get("/account/tokens/").content.decode()
    places = [page.index(f'<th scope="row">{name}') for name in ("new", "old", "never")]

    assert listed == ["new", "old", "never"]
    assert places == sorted(places)


def test_a_token_that_reads_is_made_on_the_page_by_json_and_by_the_command(people, capsys):
    session = Program()
    session.client.force_login(people["viewer"])

    session.client.post("/account/tokens/", {"name": "page", "opens": "reads"})
    made = session("POST", "tokens", {"name": "json", "reads_only": True})[1]
    call_command("api_token", "viewer", "--name", "command", "--read-only")
    session.client.post("/account/tokens/", {"name": "all", "opens": "all"})

    reading = ApiToken.objects.filter(reads_only=True).values_list("name", flat=True)
    assert set(reading) == {"page", "json", "command"}
    assert made["reads_only"]
    assert Program(made["token"])("POST", "views", {"name": "x", "query": "q=a"})[0] == 403
    assert "reads only" in session.client.get("/account/tokens/").content.decode()


def test_only_a_digest_of_a_token_is_kept_and_its_use_is_noted_once_a_minute(people, programs):
    row = ApiToken.objects.get(user=people["viewer"])
    assert len(row.digest) == 64
    assert row.last_used_at is None

    programs["viewer"].get("crawls")
    row.refresh_from_db()
    first = row.last_used_at
    programs["viewer"].get("crawls")
    row.refresh_from_db()
    assert row.last_used_at == first

    ApiToken.objects.filter(pk=row.pk).update(last_used_at=timezone.now() - timedelta(seconds=61))
    programs["viewer"].get("crawls")
    row.refresh_from_db()
    assert row.last_used_at > first


def test_the_command_makes_a_token_that_works_and_takes_it_back(people, capsys):
    call_command("api_token", "viewer", "--name", "nightly")
    program = Program(capsys.readouterr().out.strip())
    assert program("GET", "crawls")[0] == 200

    call_command("api_token", "viewer", "--name", "nightly", "--revoke")
    assert program("GET", "crawls")[0] == 401


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["ghost", "--name", "x"], "There is no user 'ghost'"),
        (["viewer", "--name", " "], "must be one line"),
        (["viewer", "--name", "x" * 101], "must be one line"),
        (["viewer", "--name", "never", "--revoke"], "has no token named 'never'"),
        (["viewer", "--name", "twin"], "choose another name"),
        (["nobody", "--name", "x"], "may not log in"),
    ],
)
def test_the_command_says_what_is_wrong(people, words, sentence):
    call_command("api_token", "viewer", "--name", "twin")
    people["nobody"].is_active = False
    people["nobody"].save()

    with pytest.raises(CommandError, match=sentence):
        call_command("api_token", *words)


def test_the_description_and_its_page_are_for_those_who_log_in_and_load_nothing_from_elsewhere(
    people, programs
):
    client = Client()
    assert client.get("/api/v1/docs").url == "/login/?next=/api/v1/docs"
    refused = client.get("/api/v1/openapi.json")
    assert (refused.status_code, refused["WWW-Authenticate"]) == (401, "Bearer")
    assert "send a token" in refused.json()["detail"]
    assert (
        client.get("/api/v1/openapi.json", headers=programs["viewer"].headers).json()["info"][
            "title"
        ]
        == "crawlsite"
    )

    client.force_login(people["viewer"])
    page = client.get("/api/v1/docs").content.decode()
    assert "/static/ninja/swagger-ui-bundle.js" in page
    assert "://" not in page
    assert '"validatorUrl": "none"' in page


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "nonsense", 404),
        ("PUT", "crawls", 405),
        ("GET", "crawls/x", 422),
        ("GET", "crawls?q=%00", 422),
        ("GET", f"crawls/{2**63}", 422),
    ],
)
def test_what_is_no_request_at_all_is_answered_in_json_too(operator, method, path, status):
    told, problem = operator(method, path)

    assert told == status
    assert problem["detail"]


@pytest.mark.parametrize(("method", "path"), [("GET", "nonsense"), ("PUT", "crawls")])
def test_an_answer_in_json_states_its_own_length(client, method, path):
    answer = client.generic(method, f"/api/v1/{path}")

    assert (answer["Content-Type"], int(answer["Content-Length"])) == (
        "application/json; charset=utf-8",
        len(answer.content),
    )


def test_a_fault_of_ours_is_told_without_its_inside(programs, monkeypatch):
    def break_down(*args, **kwargs):
        raise DatabaseError("secret inside")

    monkeypatch.setattr("crawling.dashboard.crawls.api.crawls_and_next", break_down)
    programs["viewer"].client.raise_request_exception = False

    status, problem = programs["viewer"]("GET", "crawls")

    assert status == 500
    assert "secret" not in problem["detail"]


def test_a_database_that_is_too_busy_is_no_fault_of_the_program(programs, monkeypatch):
    def wait_too_long(*args, **kwargs):
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = 1; SELECT pg_sleep(1)")

    monkeypatch.setattr("crawling.dashboard.crawls.api.crawls_and_next", wait_too_long)

    assert programs["viewer"]("GET", "crawls") == (
        503,
        {"detail": "The database was too busy, or is not there; ask again in a moment."},
    )


def test_a_body_that_is_too_big_is_refused(operator, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000

    assert operator("POST", "crawls", {"name": "x" * 2000})[0] == 413


def test_an_address_of_before_versions_names_the_root_of_this_one(client):
    answer = client.get("/api/crawls")

    assert answer.status_code == 404
    assert "under /api/v1/" in answer.json()["detail"]
    assert "under" not in client.get("/api/v1/nothing").json()["detail"]


@pytest.mark.parametrize("role", ["nobody", *ROLES])
def test_who_may_not_is_told_so_whatever_he_sends(programs, settings, role):
    """Nothing of a body, a parameter or an id is judged before the permission."""
    settings.API_REQUESTS_A_MINUTE = 1_000_000
    program, told = programs[role], []

    for method, path, _ in endpoints():
        if permission(method, path) in granted(role):
            continue
        address = address_of(path, 0).partition("?")[0]
        for where, body in ((address, {"nonsense": 1}), (f"{address}?nonsense=1", [])):
            status, answer = program(method.upper(), where, body)
            if status != 403:
                told.append((method, path, status, answer))
        answer = program.client.generic(
            method.upper(),
            f"/api/v1/{address}",
            "{",
            content_type="application/json",
            headers=program.headers,
        )
        if answer.status_code != 403:
            told.append((method, path, answer.status_code, answer.content))

    assert not told

"""Administration inside the product: identity and its public page, access, users, activity."""

from __future__ import annotations

import csv
import io

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from crawling.base.audit import record_action
from crawling.installation.identity import identity, set_identity
from crawling.models import AllowedNetwork, CrawlJob, TrustedProxy
from crawling.runs.crawls.creation import create_crawl
from crawlsite.administration.accounts import BadAccount, delete_account, role_of
from crawlsite.models import GivenPassword
from crawlsite.tokens import make_token
from tests.crawling.pages import browser, soup

IDENTITY, ACCESS = "/administration/identity/", "/administration/access/"
USERS, ACTIVITY = "/administration/users/", "/administration/activity/"


@pytest.fixture
def roles(db):
    call_command("set_up", stdout=io.StringIO())


@pytest.fixture
def administrator(roles):
    return browser("administrator")


def user(name: str) -> User:
    return User.objects.get(username=name)


# -- identity


def test_the_identity_is_set_on_its_page_and_shown_to_site_owners_without_a_log_in(roles):
    browser("administrator").post(
        IDENTITY,
        {
            "product_token": "librarybot",
            "contact_url": "mailto:bot@example.org",
            "purpose": "We keep <old> pages.",
            "addresses": "192.0.2.0/24\n2001:db8::/32",
        },
    )

    page = soup(Client().get(reverse("about-crawler"))).main.get_text(" ", strip=True)
    assert "librarybot/1.0 (+mailto:bot@example.org)" in page
    assert "We keep <old> pages." in page
    assert "192.0.2.0/24 2001:db8::/32" in page
    assert "User-agent: librarybot Disallow: /" in " ".join(page.split())


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("product_token", "two words"),
        ("contact_url", "nowhere"),
        ("contact_url", ""),
        ("addresses", "10.0.0.0/99"),
    ],
)
def test_a_wrong_identity_is_refused_at_its_field_and_what_was_typed_stays(roles, field, text):
    before = identity().user_agent
    fields = {"product_token": "librarybot", "contact_url": "mailto:bot@example.org"}
    page = soup(browser("administrator").post(IDENTITY, fields | {field: text}))

    assert page.select_one(f"#id_{field}_error") is not None
    control = page.select_one(f"#id_{field}")
    assert text in (control.get("value") or control.get_text())
    assert identity().user_agent == before


def test_a_contact_may_be_typed_as_an_e_mail_address(roles):
    fields = {"product_token": "librarybot", "contact_url": "librarian@example.org"}
    browser("administrator").post(IDENTITY, fields)

    assert identity().user_agent == "librarybot/1.0 (+mailto:librarian@example.org)"


def test_a_program_that_sets_the_name_alone_leaves_the_purpose(roles):
    set_identity("bot", "mailto:bot@example.org", purpose="Archive.", addresses="192.0.2.1")
    answer = browser("administrator").put(
        "/api/v1/identity",
        {"product_token": "newbot", "contact_url": "mailto:bot@example.org"},
        content_type="application/json",
    )

    assert (answer.json()["purpose"], answer.json()["addresses"]) == ("Archive.", "192.0.2.1")


# -- access


def test_a_network_is_allowed_and_removed_and_both_are_in_the_activity(administrator):
    fields = {"network": "10.9.0.0/16", "port_from": 80, "port_to": 443, "note": "intranet"}
    administrator.post(ACCESS, {"kind": "networks", **fields})
    row = AllowedNetwork.objects.get(network="10.9.0.0/16")
    assert "10.9.0.0/16 port 80-443" in soup(administrator.get(ACCESS)).get_text()

    administrator.post(f"{ACCESS}networks/{row.pk}/remove/")
    assert not AllowedNetwork.objects.filter(pk=row.pk).exists()
    page = soup(administrator.get(ACTIVITY, {"q": "10.9.0.0"})).tbody.get_text(" ", strip=True)
    assert "added the allowed network 10.9.0.0/16" in page
    assert "removed the allowed network" in page


def test_a_wrong_rule_is_refused_in_its_own_form(administrator):
    page = soup(administrator.post(ACCESS, {"kind": "proxies", "host": "", "port": "99999"}))

    assert len(page.select("#proxies .error")) == 2
    assert not page.select("#networks .error")
    assert not TrustedProxy.objects.exists()


def test_programs_allow_and_remove(administrator):
    made = administrator.post(
        "/api/v1/access-rules/shared",
        {"network": "203.0.113.0/24"},
        content_type="application/json",
    )
    wrong = administrator.post(
        "/api/v1/access-rules/shared",
        {"network": "x", "colour": "red"},
        content_type="application/json",
    )

    assert (made.status_code, made.json()["rule"]) == (201, "203.0.113.0/24")
    assert (wrong.status_code, list(wrong.json()["errors"])) == (422, ["colour"])
    gone = administrator.delete(f"/api/v1/access-rules/shared/{made.json()['id']}")
    left = administrator.get("/api/v1/access-rules").json()["items"]
    assert (gone.status_code, [one for one in left if one["kind"] == "shared"]) == (204, [])


def test_a_rule_that_exists_is_named_and_ports_must_be_numbers(administrator):
    row = {"network": "10.1.0.0/16", "port_from": 80, "port_to": 90}
    administrator.post(ACCESS, {"kind": "networks", **row})
    page = soup(administrator.post(ACCESS, {"kind": "networks", **row}))
    assert "10.1.0.0/16 port 80-90 has a rule already." in page.find(id="id_network_error").string

    answers = [
        administrator.post(
            "/api/v1/access-rules/networks", {**row, **other}, content_type="application/json"
        )
        for other in ({}, {"port_from": "abc"})
    ]
    assert [(one.status_code, list(one.json()["errors"])) for one in answers] == [
        (422, ["network"]),
        (422, ["port_from"]),
    ]


def test_an_operator_without_the_permission_sees_no_access(roles):
    assert browser("operator").get(ACCESS).status_code == 403


# -- users


def test_a_new_user_gets_a_password_that_logs_in_and_the_role_chosen(administrator):
    page = soup(administrator.post(USERS, {"name": "ada", "email": "", "role": "operator"}))
    password = page.select_one(".message code").get_text()

    client = Client()
    client.post("/login/", {"username": "ada", "password": password})
    assert client.get("/").headers["Location"].startswith("/account/password/")
    assert (role_of(user("ada")), user("ada").is_staff) == ("operator", False)


@pytest.mark.parametrize(
    "fields", [{"name": "a b"}, {"name": ""}, {"email": "nobody"}, {"role": "king"}]
)
def test_a_wrong_user_is_refused_at_its_field_and_what_was_typed_stays(administrator, fields):
    count = User.objects.count()
    asked = {"name": "ada", "email": "ada@example.org", "role": "viewer"} | fields
    page = soup(administrator.post(USERS, asked))

    [(field, text)] = fields.items()
    assert page.select_one(f"#{field} ~ .error") is not None
    assert field == "role" or page.select_one(f"#{field}")["value"] == text
    assert User.objects.count() == count


def test_a_name_is_given_once(administrator):
    administrator.post(USERS, {"name": "ada", "role": "viewer"})
    page = soup(administrator.post(USERS, {"name": "ada", "role": "viewer"}))

    assert "already" in page.select_one(".error").get_text()


def test_a_role_is_changed_and_an_administrator_gets_into_the_admin_site(administrator):
    administrator.post(USERS, {"name": "ada", "role": "viewer"})
    ada = user("ada")
    administrator.post(f"{USERS}{ada.pk}/", {"action": "role", "role": "administrator"})
    ada = user("ada")
    assert (role_of(ada), ada.is_staff) == ("administrator", True)

    administrator.post(f"{USERS}{ada.pk}/", {"action": "role", "role": ""})
    assert (role_of(user("ada")), user("ada").is_staff) == ("", False)


def test_a_locked_user_is_logged_out_at_once(administrator):
    administrator.post(USERS, {"name": "ada", "role": "viewer"})
    GivenPassword.objects.all().delete()  # as if it had been changed
    client = Client()
    client.force_login(user("ada"))
    assert client.get("/").status_code == 200

    administrator.post(f"{USERS}{user('ada').pk}/", {"action": "deactivate"})
    assert client.get("/").status_code == 302
    administrator.post(f"{USERS}{user('ada').pk}/", {"action": "activate"})
    assert user("ada").is_active


def test_an_e_mail_is_edited_by_page_and_program_and_a_wrong_one_is_refused_at_its_field(
    administrator,
):
    administrator.post(USERS, {"name": "ada", "role": "viewer"})
    place, program = f"{USERS}{user('ada').pk}/", f"/api/v1/users/{user('ada').pk}"

    administrator.post(place, {"action": "email", "email": " ada@example.org "})
    assert user("ada").email == "ada@example.org"

    refused = administrator.post(place, {"action": "email", "email": "ada@"})
    assert refused.status_code == 422
    assert soup(refused).find(id="email")["value"] == "ada@"
    assert "ada@example.org" in soup(refused).select_one(".error").get_text()

    administrator.patch(program, {"email": ""}, content_type="application/json")
    assert user("ada").email == ""


def test_an_account_is_deleted_once_it_was_said_what_goes_and_its_name_stays(administrator):
    administrator.post(USERS, {"name": "ada", "email": "a@example.org", "role": "operator"})
    ada = user("ada")
    token = make_token(ada, "nightly")
    set_identity("librarybot", "mailto:bot@example.org")
    create_crawl({"name": "Atlas", "seeds": ["http://a.test/"]}, by=ada)
    record_action(ada, ada, "came")

    said = soup(administrator.get(f"{USERS}{ada.pk}/")).main.get_text(" ", strip=True)
    assert "1 API token" in said
    assert "1 crawl of this user" in said

    administrator.post(f"{USERS}{ada.pk}/", {"action": "delete"})

    ada = user("ada")
    assert (ada.is_active, ada.email, role_of(ada)) == (False, "", "")
    assert "ada" not in soup(administrator.get(USERS)).table.get_text()
    bearer = {"Authorization": f"Bearer {token}"}
    assert Client().get("/api/v1/crawls", headers=bearer).status_code == 401
    assert CrawlJob.objects.get(name="Atlas").created_by == ada
    assert LogEntry.objects.filter(user=ada).exists()
    assert "already" in soup(administrator.post(USERS, {"name": "ada"})).get_text()


def test_a_program_deletes_an_account_but_not_its_own(administrator):
    administrator.post(USERS, {"name": "ada", "role": "viewer"})

    assert administrator.delete(f"/api/v1/users/{user('ada').pk}").status_code == 204
    assert administrator.delete(f"/api/v1/users/{user('ada').pk}").status_code == 404
    own = user("administrator")
    with pytest.raises(BadAccount, match="your own account"):
        delete_account(own, by=own)
    assert user("administrator").is_active


def test_nobody_changes_their_own_account_so_that_somebody_can_always_give_roles(administrator):
    own = user("administrator")
    for action in ("role", "deactivate", "password", "delete"):
        administrator.post(f"{USERS}{own.pk}/", {"action": action, "role": ""})
    own.refresh_from_db()

    assert (role_of(own), own.is_active) == ("administrator", True)
    assert administrator.get(USERS).status_code == 200


def test_only_a_superuser_changes_a_superuser(administrator):
    boss = User.objects.create_superuser("boss", password="s3cret-s3cret")
    for action in ("role", "deactivate", "password", "email", "delete"):
        answer = administrator.post(f"{USERS}{boss.pk}/", {"action": action, "role": ""})
        assert answer.status_code == 403
    boss.refresh_from_db()
    assert boss.check_password("s3cret-s3cret")


def test_programs_create_and_change_users(administrator):
    made = administrator.post(
        "/api/v1/users", {"name": "ada", "role": "viewer"}, content_type="application/json"
    ).json()
    path = f"/api/v1/users/{made['id']}"
    changed = administrator.patch(path, {"is_active": False}, content_type="application/json")
    new = administrator.post(f"{path}/password").json()

    assert (changed.json()["role"], changed.json()["is_active"]) == ("viewer", False)
    assert user("ada").check_password(new["password"])
    assert new["password"] != made["password"]


# -- activity


def test_actions_are_filtered_by_user_and_text_and_exported(administrator):
    administrator.post(USERS, {"name": "ada", "role": "viewer"})
    administrator.post(USERS, {"name": "eve", "role": "viewer"})
    asked = {"user": "administrator", "q": "eve"}

    page = soup(administrator.get(ACTIVITY, asked))
    assert [row.select("td")[3].get_text(" ", strip=True) for row in page.select("tbody tr")] == [
        "eve user"
    ]
    file = administrator.get("/administration/activity.csv", asked)
    [row] = csv.DictReader(io.StringIO(b"".join(file.streaming_content).decode()))
    assert (row["action"], row["object"], row["changes"]) == ("created", "eve", "role: – → viewer")
    [item] = administrator.get("/api/v1/activity", asked).json()["items"]
    assert (item["object"], item["changes"]) == ("eve", ["role: – → viewer"])


def test_a_long_log_has_pages_that_neither_repeat_nor_lose_rows(administrator):
    by, entries = user("administrator"), []
    for number in range(250):
        entries.append(LogEntry(user=by, object_repr=f"row {number}", action_flag=2))
    LogEntry.objects.bulk_create(entries)
    seen, address = [], f"{ACTIVITY}?q=row"
    while address:
        page = soup(administrator.get(address))
        seen += [row.select("td")[3].get_text(strip=True) for row in page.select("tbody tr")]
        link = page.select_one("a[rel=next]")
        address = f"{ACTIVITY}{link['href']}" if link else ""

    assert seen == [f"row {number}" for number in reversed(range(250))]


def test_what_the_admin_site_wrote_is_readable(administrator):
    LogEntry.objects.create(
        user=user("administrator"),
        object_repr="a group",
        action_flag=2,
        change_message='[{"changed": {"fields": ["Name"]}}]',
    )

    page = soup(administrator.get(ACTIVITY)).tbody.get_text(" ", strip=True)
    assert "changed in the admin site" in page
    assert "Changed Name." in page

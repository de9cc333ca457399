"""Each user changes the own password, and has to change one that somebody else knows."""

from __future__ import annotations

from io import StringIO

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client

from crawling.base.audit import LogEntry
from crawlsite.administration.accounts import ROLES, create_account, make_roles, reset_password
from crawlsite.administration.passwords import is_given_password
from crawlsite.tokens import make_token

pytestmark = pytest.mark.django_db

PAGE = "/account/password/"
OLD, NEW = "the old password", "a password of my own"


@pytest.fixture
def boss():
    make_roles()
    return User.objects.create_superuser("boss", password=OLD)


def user_of(role: str) -> User:
    user = User.objects.create_user("ada", password=OLD)
    user.groups.set(Group.objects.filter(name=role))
    return user


def browser(password: str, name: str = "ada") -> Client:
    client = Client()
    answer = client.post("/login/", {"username": name, "password": password})
    assert answer.status_code == 302
    return client


def change(client: Client, old: str = OLD, new: str = NEW, again: str | None = None, **more: str):
    repeated = new if again is None else again
    fields = {"old_password": old, "new_password1": new, "new_password2": repeated}
    return client.post(PAGE, {**fields, **more})


@pytest.mark.parametrize("role", ["", *ROLES])
def test_everybody_changes_the_own_password(boss, role):
    user_of(role)
    client = browser(OLD)
    assert f'href="{PAGE}"' in client.get(PAGE).text

    assert change(client).headers["Location"] == "/"

    assert client.get(PAGE).status_code == 200  # this session goes on
    assert not User.objects.get(username="ada").check_password(OLD)
    assert browser(NEW)
    assert LogEntry.objects.filter(change_message__contains="password changed").count() == 1
    assert NEW not in str(list(LogEntry.objects.values_list("change_message", flat=True)))


def test_all_other_sessions_of_the_user_end(boss):
    user_of("viewer")
    here, elsewhere, other = browser(OLD), browser(OLD), browser(OLD, "boss")

    change(here)

    assert here.get("/").status_code == 200
    assert elsewhere.get("/").headers["Location"].startswith("/login/")
    assert other.get("/").status_code == 200


@pytest.mark.parametrize(
    ("old", "new", "again", "told"),
    [
        ("wrong", NEW, NEW, "was entered incorrectly"),
        ("", NEW, NEW, "required"),
        (OLD, OLD, OLD, "your present password"),
        (OLD, "short", "short", "too short"),
        (OLD, "password1234", "password1234", "too common"),
        (OLD, NEW, f"{NEW}!", "match"),
        (OLD, "", "", "required"),
    ],
)
def test_what_is_wrong_stands_at_its_field_and_nothing_changes(boss, old, new, again, told):
    user_of("viewer")

    answer = change(browser(OLD), old, new, again)

    assert answer.status_code == 422
    assert told in answer.text
    assert browser(OLD)


def test_guesses_at_the_present_password_count_as_log_ins_do(boss, settings):
    settings.AXES_FAILURE_LIMIT = 3
    user_of("viewer")
    client = browser(OLD)

    statuses = [change(client, f"guess {number}").status_code for number in range(4)]

    assert statuses[:2] == [422, 422]
    assert statuses[-1] == 429
    assert change(client).status_code == 429


def test_the_way_on_leads_to_no_other_site(boss):
    user_of("viewer")
    client = browser(OLD)

    assert change(client, next="//evil.example/").headers["Location"] == "/"
    assert change(client, NEW, OLD, next="/crawls/").headers["Location"] == "/crawls/"


# -- passwords that were given


def made(boss: User) -> str:
    return create_account("ada", "", "operator", by=boss)[1]


def was_reset(boss: User) -> str:
    return reset_password(user_of("operator"), by=boss)


def by_the_admin_site(boss: User) -> str:
    site = browser(OLD, "boss")
    fields = {"username": "ada", "password1": NEW, "password2": NEW, "usable_password": "true"}
    assert site.post("/admin/auth/user/add/", fields).status_code == 302
    User.objects.get(username="ada").groups.set(Group.objects.filter(name="operator"))
    return NEW


def set_by_the_admin_site(boss: User) -> str:
    user, site = user_of("operator"), browser(OLD, "boss")
    fields = {"password1": NEW, "password2": NEW, "usable_password": "true"}
    assert site.post(f"/admin/auth/user/{user.pk}/password/", fields).status_code == 302
    return NEW


@pytest.mark.parametrize("way", [made, was_reset, by_the_admin_site, set_by_the_admin_site])
def test_a_given_password_opens_nothing_but_the_page_to_change_it(boss, way):
    given = way(boss)
    client = browser(given)

    assert client.get("/crawls/?state=failed").headers["Location"] == (
        f"{PAGE}?next=%2Fcrawls%2F%3Fstate%3Dfailed"
    )
    assert client.post("/crawls/new/", {"name": "x"}).headers["Location"] == PAGE
    assert client.get("/account/tokens/").status_code == 302
    assert client.get("/admin/").status_code == 302
    answer = client.get("/api/v1/crawls")
    assert (answer.status_code, PAGE in answer.json()["detail"]) == (403, True)
    assert client.get("/api/v1/openapi.json").status_code == 403
    assert client.get("/healthz").status_code == 200
    assert "given to you" in client.get(PAGE).text

    assert change(client, given, "another of my own", next="/crawls/").headers["Location"] == (
        "/crawls/"
    )

    assert client.get("/crawls/").status_code == 200
    assert client.get("/api/v1/crawls").status_code == 200
    assert "given to you" not in client.get(PAGE).text


@pytest.mark.parametrize("head", ["", "x", "Basic YTpi", "Bearerx y", "Token x"])
def test_a_head_that_carries_no_token_opens_nothing_either(boss, head):
    client = browser(reset_password(user_of("administrator"), by=boss))
    heads = {"Authorization": head}

    for path in ("/api/v1/crawls", "/api/v1/users", "/api/v1/openapi.json"):
        assert client.get(path, headers=heads).status_code == 403
    fields = {"name": "eve", "role": "administrator"}
    answer = client.post("/api/v1/users", fields, content_type="application/json", headers=heads)
    assert (answer.status_code, PAGE in answer.json()["detail"]) == (403, True)
    assert not User.objects.filter(username="eve").exists()


def test_the_same_password_again_is_no_change(boss):
    given = made(boss)
    client = browser(given)

    assert change(client, given, given).status_code == 422
    assert client.get("/crawls/").status_code == 302


@pytest.mark.parametrize("command", ["set_up", "new_password"])
def test_a_printed_password_has_to_be_changed(settings, command):
    settings.DEMO = False
    if command == "new_password":
        User.objects.create_superuser("admin", password=OLD)
    out = StringIO()
    call_command(command, stdout=out)
    words = out.getvalue().split()
    given = words[-1] if command == "new_password" else words[words.index("password") + 1]

    client = browser(given, "admin")
    assert client.get("/").headers["Location"].startswith(PAGE)
    change(client, given)
    assert client.get("/").status_code == 200


def test_one_may_log_out_and_in_again_meanwhile(boss):
    given = made(boss)
    client = browser(given)
    client.post("/logout/")

    assert client.get("/").headers["Location"].startswith("/login/")
    assert browser(given).get("/").headers["Location"].startswith(PAGE)


def test_a_program_with_a_token_goes_on_after_a_reset(boss):
    user = user_of("operator")
    heads = {"Authorization": f"Bearer {make_token(user, 'nightly')}"}
    given = reset_password(user, by=boss)

    assert Client().get("/api/v1/crawls", headers=heads).status_code == 200
    assert (
        browser(given).get("/api/v1/crawls", headers={"Authorization": "Bearer x"}).status_code
        == 401
    )
    wrong = {"Authorization": "Bearer made-up"}
    assert browser(given).get("/crawls/", headers=wrong).status_code == 302


def test_who_changes_another_field_of_a_user_leaves_the_password_as_it_is(boss):
    user, site = user_of("operator"), browser(OLD, "boss")
    place = f"/admin/auth/user/{user.pk}/change/"
    fields = {
        "username": "ada",
        "first_name": "Ada",
        "is_active": "on",
        "groups": [group.pk for group in user.groups.all()],
        "date_joined_0": "2026-01-01",
        "date_joined_1": "00:00:00",
    }

    assert site.post(place, fields).status_code == 302
    by_program = site.patch(
        f"/api/v1/users/{user.pk}", {"role": "viewer"}, content_type="application/json"
    )

    assert by_program.status_code == 200
    changed = User.objects.get(pk=user.pk)
    assert (changed.first_name, changed.groups.get().name) == ("Ada", "viewer")
    assert not is_given_password(changed)
    assert browser(OLD).get("/crawls/").status_code == 200


def test_the_admin_site_leads_to_the_same_page(boss):
    client = browser(OLD, "boss")

    assert client.get("/admin/password_change/").headers["Location"] == PAGE

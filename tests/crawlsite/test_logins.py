"""Guesses of passwords are stopped and logged, at both log-ins; others log in meanwhile."""

from __future__ import annotations

import logging

import pytest
from django.contrib.auth.models import User
from django.test import Client

from crawlsite import logins

RIGHT = {"username": "admin", "password": "a long password"}
WRONG = {**RIGHT, "password": "a guess"}


@pytest.fixture
def admin(db):
    return User.objects.create_superuser(**RIGHT)


@pytest.mark.parametrize("door", ["/login/", "/admin/login/"])
def test_the_twelfth_wrong_password_is_not_even_looked_at(admin, door, caplog):
    caplog.set_level(logging.INFO)
    answers = [Client().post(door, {**WRONG, "username": f"user{number}"}) for number in range(12)]

    assert [answer.status_code for answer in answers] == [200] * 9 + [429] * 3
    last = answers[-1]
    assert last["Retry-After"] == "300"
    assert "Wait 5 minutes" in last.content.decode()
    assert Client().post(door, RIGHT).status_code == 429
    logged = [record.getMessage() for record in caplog.records if record.name.startswith("axes")]
    assert any("user3" in line and "127.0.0.1" in line for line in logged)
    assert "a guess" not in caplog.text


def test_another_address_logs_in_meanwhile(admin):
    for _ in range(12):
        Client().post("/login/", WRONG)

    assert Client(REMOTE_ADDR="192.0.2.7").post("/login/", RIGHT).status_code == 302


def test_behind_a_proxy_the_address_is_the_last_that_it_names(admin, settings):
    settings.BEHIND_HTTPS = True
    for number in range(12):
        Client(headers={"X-Forwarded-For": f"203.0.113.{number}, 198.51.100.1"}).post(
            "/login/", WRONG
        )

    assert (
        Client(headers={"X-Forwarded-For": "198.51.100.1"}).post("/login/", RIGHT).status_code
        == 429
    )
    assert (
        Client(headers={"X-Forwarded-For": "198.51.100.2"}).post("/login/", RIGHT).status_code
        == 302
    )


def test_without_a_proxy_nobody_chooses_his_address(rf):
    request = rf.get("/login/", headers={"X-Forwarded-For": "198.51.100.1"})

    assert logins.visitor_address(request) == "127.0.0.1"


def guess_from_everywhere(count: int) -> None:
    """Wrong passwords for one name, each from an address of its own."""
    for number in range(count):
        Client(REMOTE_ADDR=f"203.0.113.{number}").post("/login/", WRONG)


@pytest.fixture
def attacked(admin, settings):
    """A browser in which `admin` was logged in before; its name is guessed at from everywhere. Of
    wrong passwords fewer are allowed than usually: each takes a request.
    """
    settings.AXES_FAILURE_LIMIT = 3
    browser = Client(REMOTE_ADDR="198.51.100.1")
    assert browser.post("/login/", RIGHT).status_code == 302
    browser.post("/logout/")
    guess_from_everywhere(logins.TIMES * settings.AXES_FAILURE_LIMIT)
    return browser


def test_a_name_that_is_guessed_at_from_many_addresses_is_closed_to_new_ones(attacked):
    assert Client(REMOTE_ADDR="203.0.113.250").post("/login/", RIGHT).status_code == 429


def test_who_logged_in_there_before_is_not_kept_out_by_guesses_of_others(attacked):
    attacked.defaults["REMOTE_ADDR"] = "192.0.2.9"  # the telephone is elsewhere today

    assert attacked.post("/login/", RIGHT).status_code == 302


def test_on_the_machine_itself_nobody_is_kept_out_by_guesses_of_others(attacked):
    assert Client(REMOTE_ADDR="127.0.0.1").post("/login/", RIGHT).status_code == 302


def test_a_cookie_of_another_user_opens_nothing(attacked):
    own = {"username": "eve", "password": "another password"}
    User.objects.create_user(**own)
    eve = Client(REMOTE_ADDR="203.0.113.250")
    assert eve.post("/login/", own).status_code == 302
    eve.post("/logout/")

    assert eve.post("/login/", RIGHT).status_code == 429


def test_a_known_browser_may_be_wrong_no_more_often_than_others(attacked, settings):
    allowed = range(settings.AXES_FAILURE_LIMIT - 1)
    answers = [attacked.post("/login/", WRONG).status_code for _ in allowed]

    assert 429 not in answers
    assert attacked.post("/login/", WRONG).status_code == 429

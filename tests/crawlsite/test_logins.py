"""Guesses of passwords are stopped and logged, at both log-ins; others log in meanwhile."""

from __future__ import annotations

import logging

import pytest
from django.contrib.auth.models import User
from django.test import Client

from crawlsite import logins
from serving.visitors import visitor_address

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

    assert visitor_address(request) == "127.0.0.1"


@pytest.mark.parametrize(
    ("told", "address"),
    [
        ("9.9.9.9", "9.9.9.9"),
        ("9.9.9.9:4711", "9.9.9.9"),
        (" 1.2.3.4 , 9.9.9.9:4711 ", "9.9.9.9"),
        ("[2001:db8::1]:4711", "2001:db8::"),
        ("[2001:db8::1]", "2001:db8::"),
        ("2001:db8::1", "2001:db8::"),
        ('"[2001:db8::ffff:1]:80"', "2001:db8::"),
        ("2001:db8:0:1::1", "2001:db8:0:1::"),
        ("fe80::1%eth0", "fe80::"),
        ("[fe80::1%25eth0]:80", "fe80::"),
        ("::ffff:9.9.9.9", "9.9.9.9"),
        ("127.0.0.1", "127.0.0.1"),
        *(
            (no_address, "192.0.2.77")
            for no_address in (
                *("", ",", "9.9.9.9,", "unknown", "_hidden", "'", "localhost", "9.9.9.9:", "9.9.9"),
                *("9.9.9.9:port", "9.9.9.9:1:2", "[9.9.9.9", "[::1]x", "[::1]:x", "[]", "[", ":80"),
                *("9" * 300, "0177.0.0.1", "127.1", "1.2.3.4 5", "::1::", "%eth0"),
                *("9.9.9.9\t:80", "for=9.9.9.9", "１２７.0.0.1", "9.9.9.9/8", "\xff"),
            )
        ),
    ],
)
def test_behind_a_proxy_no_text_keeps_anybody_from_logging_in(admin, settings, told, address, rf):
    settings.BEHIND_HTTPS = True
    heads = {"HTTP_X_FORWARDED_FOR": told, "REMOTE_ADDR": "192.0.2.77"}

    assert visitor_address(rf.get("/login/", **heads)) == address
    assert Client(**heads).post("/login/", WRONG).status_code == 200
    assert Client(**heads).post("/login/", RIGHT).status_code == 302


@pytest.mark.parametrize("name", ["a\0b", "a" * 10_000, "", " ", "\0"])
def test_no_name_makes_the_log_in_fail(admin, name):
    heads = {"User-Agent": "a" * 5000, "Accept": "b" * 5000}
    for place in ("/login/", "/login/?next=%00", f"/login/?next=/{'c' * 3000}"):
        answer = Client(headers=heads).post(place, {**WRONG, "username": name})
        assert answer.status_code == 200


@pytest.mark.parametrize(
    "heads",
    [
        {"X-Forwarded-For": "127.0.0.1"},
        {"X-Forwarded-For": "[::1]:80"},
        {"X-Forwarded-For": "unknown"},
        {"X-Forwarded-For": ""},
        {"X-Real-IP": "127.0.0.1"},
        {"Forwarded": "for=127.0.0.1"},
        {"Via": "1.1 proxy"},
    ],
)
@pytest.mark.parametrize("is_behind", [True, False])
def test_who_comes_by_a_proxy_is_not_on_the_machine_itself(admin, settings, heads, is_behind):
    settings.BEHIND_HTTPS, settings.AXES_FAILURE_LIMIT = is_behind, 1
    guess_from_everywhere(logins.TIMES)

    assert Client(headers=heads).post("/login/", RIGHT).status_code == 429
    assert Client().post("/login/", RIGHT).status_code == 302


def test_a_new_address_for_each_guess_does_not_lift_the_limit(admin, settings):
    settings.BEHIND_HTTPS, settings.AXES_FAILURE_LIMIT = True, 3
    answers = [
        Client(headers={"X-Forwarded-For": f"198.51.100.{number}"}).post("/login/", WRONG)
        for number in range(logins.TIMES * settings.AXES_FAILURE_LIMIT)
    ]

    assert [answer.status_code for answer in answers].count(429) == 1
    assert answers[-1].status_code == 429


def test_the_addresses_of_one_ipv6_network_are_counted_together(admin):
    for number in range(12):
        Client(REMOTE_ADDR=f"2001:db8::{number + 1}").post("/login/", WRONG)

    assert Client(REMOTE_ADDR="2001:db8::ffff:1").post("/login/", RIGHT).status_code == 429
    assert Client(REMOTE_ADDR="2001:db8:0:1::1").post("/login/", RIGHT).status_code == 302


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

"""Pages that refuse say why, and what to do about it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import reverse

from tests.crawling.pages import browser, soup


@pytest.fixture
def without_role(db):
    browser("administrator", is_staff=True)
    client = Client()
    client.force_login(User.objects.create_user("newcomer"))
    return client


def test_a_user_without_a_role_is_told_whom_to_ask(without_role):
    answer = without_role.get(reverse("home"))

    assert answer.status_code == 403
    page = soup(answer)
    assert "Ask an administrator for one: administrator" in page.main.get_text(" ", strip=True)
    assert page.main.find("form", action=reverse("logout"))
    assert not page.main.find_all("a")  # each would lead to the next refusal


def test_a_viewer_who_may_not_act_is_led_to_a_page_that_he_may_see(db):
    viewer = browser("viewer")

    answer = viewer.get(reverse("crawling:new"))

    assert answer.status_code == 403
    assert viewer.get(soup(answer).main.a["href"]).status_code == 200


def test_a_form_that_outlived_its_session_leads_to_the_log_in_and_back(db):
    client = Client(enforce_csrf_checks=True)
    form = f"http://testserver{reverse('crawling:new')}?template=1"

    answer = client.post(reverse("crawling:new"), {"name": "x"}, headers={"Referer": form})

    assert answer.status_code == 403
    page = soup(answer)
    assert "Your session has ended" in page.h1.get_text()
    assert page.main.a["href"] == f"{reverse('login')}?next=%2Fcrawls%2Fnew%2F%3Ftemplate%3D1"


def test_a_page_elsewhere_is_not_led_back_to(db):
    client = Client(enforce_csrf_checks=True)

    answer = client.post(reverse("login"), {}, headers={"Referer": "https://evil.test/form"})

    assert soup(answer).main.a["href"] == reverse("login")


@pytest.mark.parametrize("address", ["home", "admin:index", "login"])
def test_every_page_has_the_icon(db, address):
    client = browser("administrator", is_staff=True) if address != "login" else Client()

    icon = soup(client.get(reverse(address))).find("link", rel="icon")["href"]

    assert finders.find(icon.removeprefix("/static/"))

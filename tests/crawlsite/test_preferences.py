"""How often live pages ask anew is everybody's own choice, and kept on the account."""

from __future__ import annotations

import pytest

from crawlsite.models import Preference
from tests.crawling.pages import browser, soup

pytestmark = pytest.mark.django_db


def chosen(client):
    return soup(client.get("/crawls/")).select_one("#refresh-every [selected]")["value"]


def test_it_is_two_seconds_until_somebody_chooses_and_then_theirs_alone():
    viewer, operator = browser("viewer"), browser("operator")
    assert chosen(viewer) == "2"

    assert viewer.post("/account/refresh/", {"refresh_seconds": "15"}).status_code == 204

    assert (chosen(viewer), chosen(operator)) == ("15", "2")
    assert viewer.get("/api/v1/preferences").json()["refresh_seconds"] == 15


def look(client):
    page = soup(client.get("/crawls/")).html
    return page["data-theme"], page["data-density"]


def test_theme_and_density_are_chosen_one_by_one_without_scripts_and_for_oneself():
    viewer, operator = browser("viewer"), browser("operator")
    assert look(viewer) == ("auto", "comfortable")

    answer = viewer.post("/account/look/", {"density": "compact", "next": "/hosts/"})
    viewer.post("/account/look/", {"theme": "dark"})

    assert answer.url == "/hosts/"
    assert (look(viewer), look(operator)) == (("dark", "compact"), ("auto", "comfortable"))
    assert chosen(viewer) == "2"


def test_a_look_that_there_is_not_is_refused_with_what_there_is():
    viewer = browser("viewer")

    page = soup(viewer.post("/account/look/", {"theme": "pink"}, follow=True))

    assert "theme: must be one of auto, light, dark" in page.select_one(".message").get_text()
    assert look(viewer) == ("auto", "comfortable")


def test_a_program_chooses_too_and_off_is_a_choice():
    viewer = browser("viewer")

    wanted = {"refresh_seconds": 0, "theme": "dark", "density": "compact"}
    answer = viewer.put("/api/v1/preferences", wanted, content_type="application/json")

    assert answer.json() == wanted == viewer.get("/api/v1/preferences").json()

    assert chosen(viewer) == "0"


@pytest.mark.parametrize("seconds", ["", "3", "-1", "fast", "1e0"])
def test_what_cannot_be_chosen_is_refused_with_what_can(seconds):
    viewer = browser("viewer")

    answer = viewer.post("/account/refresh/", {"refresh_seconds": seconds})

    assert (answer.status_code, answer.content) == (
        422,
        b"refresh_seconds: must be one of 1, 2, 5, 15, 60, 0; 0 is off",
    )
    assert not Preference.objects.exists()

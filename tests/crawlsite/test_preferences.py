"""How the pages look and behave is each user's choice, and kept on the account."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from crawling.models import CrawlJob, Host, Run
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

    wanted = {"refresh_seconds": 0, "theme": "dark", "density": "compact", "rows": 25}
    wanted |= {"time_zone": "Asia/Tokyo", "hidden_columns": {"crawls": ["size"]}}
    wanted |= {"hides_first_steps": True}
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


def draft(name):
    order = {"seeds": ["https://a.test/"], "delay_seconds": 1, "batch_size": 9, "claim": {}}
    return CrawlJob.objects.create(name=name, **order)


def prefer(client, **fields):
    given = {
        "theme": "auto",
        "density": "comfortable",
        "rows": "0",
        "refresh_seconds": "2",
        "time_zone": "UTC",
        "columns-crawls": ["known", "queued", "failed", "excluded", "size", "rate", "started"],
        "columns-pages": ["type", "size", "fetched"],
        **fields,
    }
    return client.post("/account/preferences/", given)


def heads(client, address="/crawls/"):
    return [head.get_text(strip=True) for head in soup(client.get(address)).select("thead th")]


def test_the_page_shows_what_was_chosen_and_leads_back():
    viewer = browser("viewer")

    answer = prefer(viewer, theme="dark", rows="25", next="/crawls/?q=a")

    assert answer.url == "/crawls/?q=a"
    page = soup(viewer.get("/account/preferences/"))
    assert page.select_one("#theme [selected]")["value"] == "dark"
    assert page.select_one("#rows [selected]")["value"] == "25"
    assert prefer(viewer, next="https://elsewhere.example/").url == "/account/preferences/"


@pytest.mark.parametrize(
    ("field", "value"), [("time_zone", "Atlantis"), ("rows", "7"), ("rows", ""), ("theme", "pink")]
)
def test_a_preference_that_there_is_not_is_told_beside_its_field_and_nothing_is_kept(field, value):
    viewer = browser("viewer")

    answer = prefer(viewer, density="compact", **{field: value})

    assert answer.status_code == 422
    assert soup(answer).select_one(f"#{field}")["aria-invalid"] == "true"
    assert not Preference.objects.exists()


def test_hidden_columns_are_not_shown_to_whoever_hid_them():
    viewer, operator = browser("viewer"), browser("operator")
    draft("Manuals")

    prefer(viewer, **{"columns-crawls": ["size"]})

    assert heads(viewer) == ["Crawl", "State", "Fetched", "Size"]
    assert heads(operator)[2:] == ["Fetched", "Queued", "Failed", "Size", "Pages/s", "Started"]
    assert len(soup(viewer.get("/crawls/")).select("tbody tr:first-child > *")) == 4


def test_a_page_of_a_list_has_as_many_rows_as_were_chosen():
    viewer, operator = browser("viewer"), browser("operator")
    for number in range(26):
        draft(f"crawl {number}")

    prefer(viewer, rows="50")

    assert len(soup(viewer.get("/crawls/")).select("main tbody")) == 26
    assert len(soup(operator.get("/crawls/")).select("main tbody")) == 25


def test_exact_times_are_in_the_zone_of_whoever_looks_and_files_in_utc():
    viewer, operator = browser("viewer"), browser("operator")
    at = datetime(2026, 1, 31, 23, 30, tzinfo=UTC)
    run = Run.objects.create(crawl=draft("Manuals"), number=1, state="finished", is_latest=True)
    Run.objects.filter(pk=run.pk).update(started_at=at, finished_at=at)

    prefer(viewer, time_zone="Asia/Tokyo")

    assert "2026-02-01 08:30:00 JST" in viewer.get("/crawls/").text
    assert "2026-01-31 23:30:00 UTC" in operator.get("/crawls/").text
    assert b"2026-01-31T23:30:00+00:00" in b"".join(
        viewer.get("/crawls/list.csv").streaming_content
    )
    assert viewer.get("/api/v1/crawls").json()["items"][0]["started_at"].startswith("2026-01-31T23")
    # a moment without a zone is in the user's zone
    assert "Manuals" in viewer.get("/crawls/?since=2026-02-01T08:00").text
    assert "Manuals" not in viewer.get("/crawls/?since=2026-02-01T09:00").text
    assert "Manuals" not in operator.get("/crawls/?since=2026-02-01T08:00").text


def test_breadcrumbs_lead_back_to_the_last_filter_and_the_menu_to_all():
    viewer, operator = browser("viewer"), browser("operator")
    crawl, host = draft("Manuals"), Host.objects.create(name="a.org")
    below = {"/crawls/": [f"/crawls/{crawl.pk}/", f"/crawls/{crawl.pk}/runs/"]}
    below["/hosts/"] = [f"/hosts/{host.pk}/"]

    def ways_back(client, place="/crawls/"):
        pages = [soup(client.get(address)) for address in below[place]]
        assert {page.select_one(".places a[aria-current]")["href"] for page in pages} == {place}
        return {page.select_one(".crumbs a")["href"] for page in pages}

    viewer.get("/crawls/?state=draft&sort=-started&after=7")
    viewer.get("/hosts/?q=org")

    assert ways_back(viewer) == {"/crawls/?state=draft&sort=-started"}
    assert ways_back(viewer, "/hosts/") == {"/hosts/?q=org"}
    assert ways_back(operator) == {"/crawls/"}

    viewer.get("/crawls/")
    assert ways_back(viewer) == {"/crawls/"}


def test_each_filter_is_told_and_dropped_by_itself():
    viewer = browser("viewer")
    draft("Manuals")

    page = soup(viewer.get("/crawls/?state=draft&q=Man&sort=name&after=3"))
    chips = {chip.get_text(" ", strip=True): chip.a["href"] for chip in page.select(".chip")}

    assert chips == {"Contains: Man": "?state=draft&sort=name", "State: draft": "?q=Man&sort=name"}
    assert not soup(viewer.get("/crawls/")).select(".chip")


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "Europe", ""])
def test_a_stored_time_zone_that_is_none_costs_no_page_and_is_told_beside_its_field(zone):
    viewer = browser("viewer")
    prefer(viewer, theme="dark")
    Preference.objects.update(time_zone=zone)

    pages = [viewer.get(place) for place in ("/", "/crawls/", "/account/preferences/")]

    assert [page.status_code for page in pages] == [200, 200, 200]
    page = soup(pages[2])
    assert page.select_one("#time_zone")["aria-invalid"] == "true"
    assert "Times are in UTC until then." in page.select_one("[role=alert]").text
    assert prefer(viewer, time_zone="Asia/Tokyo").status_code == 302

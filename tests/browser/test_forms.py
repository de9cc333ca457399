"""Typed text is not lost: neither by leaving a form nor by a session that ends."""

from __future__ import annotations

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, expect

from crawling.models import AllowedNetwork, BlocklistEntry, CrawlJob
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.teams import set_team_rule

PASSWORD = "a long password"  # of a test's user
LISTED = "/crawls/blocklist/"


@pytest.fixture
def operator(browse, user_of) -> Page:
    set_team_rule(own_crawls_only=False)  # so that the blocklist has its form
    user = user_of("operator")
    user.set_password(PASSWORD)
    user.save()
    return browse("operator")


def log_in(page: Page, name: str = "operator") -> None:
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()


def fill(page: Page) -> None:
    page.locator("main [name=text]").fill("tracker.example")
    page.locator("main [name=reason]").fill("asked for")


def send(page: Page) -> None:
    """Press the form's button, and wait for the page that answers it."""
    with page.expect_navigation():
        page.locator("main form.order button.primary").click()


def asked_when_leaving(page: Page) -> list[str]:
    asked: list[str] = []

    def answer(dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", answer)
    page.get_by_role("link", name="Overview").first.click()
    page.wait_for_url(lambda url: url.rstrip("/").count("/") == 2)
    page.remove_listener("dialog", answer)
    return asked


def test_a_changed_form_asks_before_it_is_left_and_an_unchanged_one_does_not(operator, pool):
    operator.goto(LISTED)
    assert asked_when_leaving(operator) == []

    operator.goto(LISTED)
    fill(operator)
    assert asked_when_leaving(operator) == ["beforeunload"]

    operator.goto(LISTED)
    fill(operator)
    operator.locator("main [name=text]").fill("")
    operator.locator("main [name=reason]").fill("")
    assert asked_when_leaving(operator) == []


def test_a_form_that_was_refused_asks_and_one_that_was_saved_does_not(operator, pool):
    operator.goto(LISTED)
    operator.locator("main [name=text]").fill("tracker.example")
    send(operator)
    expect(operator.locator("main [aria-invalid=true]").first).to_be_visible()
    assert asked_when_leaving(operator) == ["beforeunload"]

    operator.goto(LISTED)
    fill(operator)
    send(operator)
    expect(operator.locator("main")).to_contain_text("tracker.example")
    assert asked_when_leaving(operator) == []


def test_after_an_ended_session_the_log_in_leads_back_to_the_filled_form(operator, pool):
    operator.goto(LISTED)
    fill(operator)
    Session.objects.all().delete()
    send(operator)
    expect(operator.locator(".message")).to_contain_text("Your session has ended")
    log_in(operator)

    operator.wait_for_url(f"**{LISTED}")
    expect(operator.locator("#filled-in")).to_contain_text("was not sent")
    expect(operator.locator("main [name=text]")).to_have_value("tracker.example")
    assert not BlocklistEntry.objects.exists()

    send(operator)
    expect(operator.locator("main")).to_contain_text("tracker.example")
    assert BlocklistEntry.objects.get().reason == "asked for"
    operator.goto(LISTED)
    expect(operator.locator("#filled-in")).to_have_count(0)


def test_a_page_opened_before_another_log_in_is_filled_in_again(operator, pool):
    operator.goto(LISTED)
    fill(operator)
    operator.context.clear_cookies(name="csrftoken")
    send(operator)
    expect(operator.locator("h1")).to_contain_text("out of date")
    operator.get_by_role("link", name="Open the page again").click()

    expect(operator.locator("main [name=text]")).to_have_value("tracker.example")
    send(operator)
    expect(operator.locator("main")).to_contain_text("tracker.example")


def test_what_one_user_typed_is_not_shown_to_another(operator, pool, user_of):
    other = user_of("administrator")
    other.set_password(PASSWORD)
    other.save()
    operator.goto(LISTED)
    fill(operator)
    Session.objects.all().delete()
    send(operator)
    log_in(operator, "administrator")

    operator.wait_for_url(f"**{LISTED}")
    expect(operator.locator("main [name=text]")).to_have_value("")
    assert operator.evaluate("sessionStorage.unsent ?? ''") == ""


def test_a_button_pressed_after_the_session_has_ended_leads_back_to_its_page(operator, web_crawl):
    operator.goto(f"/crawls/{web_crawl.pk}/")
    Session.objects.all().delete()
    operator.get_by_role("button", name="Start", exact=True).click()
    log_in(operator)

    operator.wait_for_url(f"**/crawls/{web_crawl.pk}/")
    expect(operator.get_by_role("button", name="Start", exact=True)).to_be_visible()
    assert not web_crawl.runs.exists()


@pytest.fixture
def web_crawl(pool) -> CrawlJob:
    AllowedNetwork.objects.create(network="127.0.0.0/8", port_from=1024, port_to=65535)
    return create_crawl({"name": "Library", "seeds": ["http://127.0.0.1:8900/"]})

"""The purpose of a crawl: chosen first, it sets other answers, and stays with the crawl."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command
from django.urls import reverse

from crawling.dashboard.orders.forms.purposes import CARDS
from crawling.dashboard.run.first_page import FIRST
from crawling.models import CrawlJob, Run, Schedule
from crawling.orders.order import read_order
from crawling.orders.purposes import PRESETS, SCHEDULES, Purpose
from crawling.runs.crawls.creation import clone_crawl, create_crawl
from crawling.runs.crawls.schedules import set_schedule
from crawling.runs.crawls.templates import create_from_template, save_template
from crawling.runs.start import start_run
from tests.crawling.pages import browser, soup

SEED = "http://127.0.0.1:8900/"
NEW, FOR = "crawling:new", "crawling:new-for"


@pytest.fixture
def operator(pool, loopback):
    return browser("operator")


def answers_of(page) -> dict[str, object]:
    """The answers that the form on a page would send."""
    form = page.select_one("form.order")
    ticked = {
        box["name"]: box.get("value", "on") for box in form.select("[type=checkbox][checked]")
    }
    ticked |= {radio["name"]: radio["value"] for radio in form.select("[type=radio][checked]")}
    typed = {
        field["name"]: field.get("value", "")
        for field in form.select("input[name]")
        if field.get("type") not in ("checkbox", "radio", "file")
    }
    texts = {area["name"]: area.get_text().strip() for area in form.select("textarea[name]")}
    chosen = {
        select["name"]: (select.select_one("[selected]") or select.select_one("option"))["value"]
        for select in form.select("select[name]")
    }
    return {**typed, **texts, **chosen, **ticked}


def test_a_new_crawl_begins_with_what_it_is_for(operator):
    page = soup(operator.get(reverse(NEW)))

    cards = page.select("form.order .purpose")
    assert [card.strong.get_text() for card in cards] == [
        "Archive a site",
        "Collect data",
        "Check links",
        "Blank",
    ]
    assert all(card.select_one(".icon") and card.small.get_text() for card in cards)
    assert [card["aria-pressed"] for card in cards] == ["false", "false", "false", "true"]
    assert {card.purpose for card in CARDS} == set(Purpose) == set(PRESETS)


@pytest.mark.parametrize(
    ("purpose", "assets", "external", "repeat", "is_open"),
    [
        ("archive", True, False, "month", []),
        ("data", False, False, "", ["reading"]),
        ("links", True, True, "week", []),
        ("", False, False, "", []),
    ],
)
def test_a_purpose_sets_the_form(operator, purpose, assets, external, repeat, is_open):
    by_link = soup(operator.get(reverse(NEW), {"for": purpose}))
    blank = answers_of(soup(operator.get(reverse(NEW))))
    by_button = soup(operator.post(reverse(FOR), {**blank, "for": purpose}))

    for page in (by_link, by_button):
        answers = answers_of(page)
        assert (answers["purpose"], answers["repeat"]) == (purpose, repeat)
        assert ("requisites" in answers, "check_external" in answers) == (assets, external)
        opened = [one["data-section"] for one in page.select("details.section[open]")]
        assert opened == is_open
        pressed = page.select_one(".purpose[aria-pressed=true]")
        assert pressed["value"] == purpose


@pytest.mark.parametrize("purpose", ["data", ""])
def test_the_rules_come_right_after_the_start_urls_where_data_are_collected(operator, purpose):
    page = soup(operator.get(reverse(NEW), {"for": purpose}))
    typed = page.select("form.order :is(input, textarea, select)[id^=id_]")
    ids = [one["id"].removeprefix("id_") for one in typed]
    [section] = page.select("details[data-section=reading]")
    first = section.select_one(":is(input, textarea, select)")["id"].removeprefix("id_")

    assert (ids[ids.index(first) - 1] == "seeds") is (purpose == "data")


def test_what_was_changed_stays_when_another_purpose_is_chosen(operator):
    answers = answers_of(soup(operator.get(reverse(NEW), {"for": "archive"})))
    del answers["requisites"]
    changed = {**answers, "seeds": SEED, "max_pages": "12", "repeat": "week", "weekdays": ["3"]}

    page = soup(operator.post(reverse(FOR), {**changed, "for": "links"}))

    kept = answers_of(page)
    assert (kept["seeds"], kept["max_pages"], kept["repeat"]) == (SEED, "12", "week")
    assert page.select_one("[name=weekdays][checked]")["value"] == "3"
    assert "requisites" not in kept
    assert "check_external" in kept
    # what the first purpose had set and no user has changed is the second's
    back = answers_of(soup(operator.post(reverse(FOR), {**kept, "for": ""})))
    assert "check_external" not in back


def test_the_purpose_and_its_schedule_are_made_with_the_crawl(operator):
    answers = answers_of(soup(operator.get(reverse(NEW), {"for": "links"})))

    made = operator.post(reverse(NEW), {**answers, "seeds": SEED, "name": "Shop"})

    crawl = CrawlJob.objects.get()
    page = soup(operator.get(made["Location"]))
    assert "Shop is saved; it starts first on " in page.select_one(".flash").get_text()
    assert "Every week on Monday at 03:00, UTC," in page.select_one(".crawl-head").get_text()
    assert (crawl.purpose, crawl.order.filters.check_external) == ("links", True)
    assert Schedule.objects.get(crawl=crawl).timing["cron"] == SCHEDULES["links"]


def test_an_answer_that_is_not_ticked_is_not_set_by_the_purpose(operator):
    answers = answers_of(soup(operator.get(reverse(NEW), {"for": "archive"})))
    del answers["requisites"]

    operator.post(reverse(NEW), {**answers, "seeds": SEED, "repeat": ""})

    crawl = CrawlJob.objects.get()
    assert (crawl.purpose, crawl.requisites) == ("archive", False)
    assert not Schedule.objects.exists()


def test_a_wrong_schedule_keeps_the_crawl_from_being_made(operator):
    answers = answers_of(soup(operator.get(reverse(NEW))))
    wrong = {**answers, "seeds": SEED, "repeat": "cron", "cron": "0 3 * *"}

    page = soup(operator.post(reverse(NEW), wrong))

    assert page.select_one("#id_cron_error").get_text().startswith("Needs five fields")
    assert "1 field needs correction" in page.select_one("[role=alert]").get_text()
    assert not CrawlJob.objects.exists()


def test_without_scripts_the_form_is_checked_by_a_button(operator):
    answers = answers_of(soup(operator.get(reverse(NEW), {"for": "links"})))

    asked = {**answers, "seeds": SEED, "max_pages": "60", "check": "1"}
    page = soup(operator.post(reverse(NEW), asked))

    assert len(page.select(".next-starts time")) == 3
    assert [value.get_text() for value in page.select(".figures dd:not(.sub)")][:2] == [
        "60",
        "60 s",
    ]
    assert not CrawlJob.objects.exists()


def test_other_doors_take_the_purpose_with_its_fields(order, loopback):
    fields = order(SEED, purpose="archive")
    made = create_crawl(fields)
    assert (made.purpose, made.requisites) == ("archive", True)
    assert made.order.reuse.replay_file
    assert not create_crawl({**fields, "name": "b", "requisites": False}).requisites
    assert clone_crawl(made).purpose == "archive"
    template = save_template(made, "Archives")
    assert create_from_template(template, {"name": "c", "seeds": [SEED]}).purpose == "archive"

    call_command("crawl", "edit", made.pk, "--for", "links", stdout=StringIO())
    made.refresh_from_db()
    assert (made.purpose, made.requisites) == ("links", True)
    assert read_order({**fields, "purpose": "fun"})[1]["purpose"].startswith("must be ''")


@pytest.mark.parametrize("purpose", ["", "archive", "data", "links"])
def test_a_crawl_shows_first_what_it_is_for(order, operator, purpose):
    crawl = create_crawl(order(SEED, purpose=purpose))
    here = reverse("crawling:crawl", args=[crawl.pk])
    start_run(crawl)
    assert operator.get(here).status_code == 200  # it works: its overview says how

    Run.objects.update(state="finished")

    answer = operator.get(here)
    if not purpose:
        assert answer.status_code == 200
        return
    assert answer["Location"] == reverse(f"crawling:{FIRST[purpose]}", args=[crawl.pk])
    tabs = [tab["href"] for tab in soup(operator.get(answer["Location"])).select(".tabs a")]
    assert f"{here}?overview" in tabs
    assert operator.get(f"{here}?overview").status_code == 200
    assert operator.get(here, headers={"HX-Request": "true"}).status_code == 200
    Run.objects.update(state="failed")
    assert operator.get(here).status_code == 200


def test_a_clone_does_not_take_the_schedule_over(order, operator):
    crawl = create_crawl(order(SEED, purpose="links"))
    set_schedule(crawl, {"cron": "0 5 * * *"})

    answers = answers_of(soup(operator.get(reverse(NEW), {"clone": crawl.pk})))

    assert (answers["purpose"], answers["repeat"]) == ("links", "")

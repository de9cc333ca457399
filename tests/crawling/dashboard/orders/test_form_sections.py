"""A folded section says what is set in it, shows no secret, and unfolds where something is
wrong."""

from __future__ import annotations

import pytest
from django.urls import reverse

from crawling.dashboard.orders.forms.create import CrawlForm
from crawling.dashboard.orders.forms.sections import SECTIONS, sections_of
from crawling.runs.crawls.creation import create_crawl
from tests.crawling.page_tree import tree_of
from tests.crawling.pages import browser, soup

CAPACITY = {
    "worker": 4,
    "fetch_slots": 64,
    "bandwidth": 100_000,
    "memory": 512,
    "dns_slots": 64,
    "archive_writers": 8,
}


def told(**answers) -> dict[str, str]:
    return {
        key: folded.told
        for key, folded in sections_of(CrawlForm(answers, capacity=CAPACITY)).items()
        if folded.told
    }


def test_what_is_as_usual_is_not_told_and_what_is_set_is(db):
    empty = CrawlForm(capacity=CAPACITY)
    assert {key: folded.told for key, folded in sections_of(empty).items()} == dict.fromkeys(
        (one.key for one in SECTIONS), ""
    )

    assert told(
        host_max_pages="5000",
        host_max_minutes="953.6743164",
        order="opic",
        cookies="on",
        headers="X-Key: s3cret\nDNT: 1",
    ) == {
        "budget": "Pages per host: 5,000; Minutes per host: 953.67",
        "ordering": "Order of visits: OPIC",
        "fetching": "Headers: 2 lines; Keep cookies",
    }


def test_every_question_of_the_form_is_asked_once_on_the_page(db, pool):
    page = soup(browser("administrator").get(reverse("crawling:new")))
    names = [
        field["name"]
        for field in page.select("form.order :is(input, select, textarea)[name]")
        if field.get("type") != "radio" and field["name"] != "weekdays"  # one name, many boxes
    ]

    assert sorted(set(CrawlForm(capacity=CAPACITY).fields) - {"preset"} - set(names)) == []
    assert len(names) == len(set(names))


def test_a_section_with_a_mistake_is_unfolded(db, pool):
    page = soup(
        browser("operator").post(
            reverse("crawling:new"), {"seeds": "http://127.0.0.1:8900/", "host_max_pages": "x"}
        )
    )

    assert [section["data-section"] for section in page.select("details.section[open]")] == [
        "budget"
    ]


@pytest.mark.parametrize("is_new", [True, False])
def test_a_form_is_checked_while_it_is_filled_in(order, is_new):
    crawl = create_crawl(order("http://127.0.0.1:8900/"))
    address = (
        reverse("crawling:check") if is_new else reverse("crawling:scope-check", args=[crawl.pk])
    )
    operator, typed = (
        browser("operator"),
        {
            "seeds": "http://127.0.0.1:8900/",
            "delay_seconds": "2",
            "preset": "normal",
            "scope": "host",
        },
    )

    wrong = operator.post(address, {**typed, "max_pages": "many", "exclude": "("}).json()
    assert sorted(wrong["errors"]) == ["exclude", "max_pages"]
    assert "To see an estimate, correct: Pages and " in wrong["estimate"]

    right = operator.post(address, {**typed, "max_pages": "60", "host_max_pages": "7"}).json()
    assert (right["errors"], right["told"]["budget"]) == ({}, "Pages per host: 7")
    told = [figure.get_text(" ", strip=True) for figure in tree_of(right["estimate"]).select("div")]
    assert told[:2] == [
        "Requests per minute 30 per host, at most",
        "Minimum duration 14 s 7 pages on 1 host",
    ]
    assert [one.partition(",")[0] for one in told[2:]] == [
        "Reserves at most 8 connections"
    ] * is_new

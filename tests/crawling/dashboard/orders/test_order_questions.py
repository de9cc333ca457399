"""The form, the command line and the API say of fields what the order says."""

from __future__ import annotations

from argparse import ArgumentParser

import pytest
from django.urls import reverse

from crawling.dashboard.management.orders import add_order_arguments, given_fields
from crawling.dashboard.orders.forms.create import CrawlForm, EditForm, as_answers, edit_answers
from crawling.dashboard.run.crawl_settings import settings_of
from crawling.orders.fields import fields_of
from crawling.orders.order import FIELDS, CrawlOrder
from crawling.orders.sections.budget import BudgetPart
from crawling.orders.sections.fetching import FetchingPart
from crawling.orders.sections.filters import FiltersPart
from crawling.orders.sections.thresholds import ThresholdsPart
from crawling.runs.crawls.creation import create_crawl
from tests.crawling.dashboard.orders.test_form_sections import CAPACITY
from tests.crawling.pages import browser, soup

SEED = "http://127.0.0.1:8900/"
#: a value for every field that people can be asked for, none of them its default
OTHERWISE = {
    "purpose": "links",
    "scope": "domain",
    "order": "best_first",
    "max_pages": 12_345_678,
    "max_depth": 0,
    "max_bytes": 3 * 2**19,
    "max_seconds": 90,
    "delay_seconds": 0.125,
    "processes": 2,
    "batch_size": 7,
    "priority": -3,
    "idle_only": True,
    "replay_file": True,
    "schemes": ["http"],
    "include": ["/manual/", "/faq/"],
    "exclude": [r"\.zip$"],
    "off_site_hops": 2,
    "check_external": True,
    "skip_copies": True,
    "types": ["text/html"],
    "max_document_bytes": 2**20,
    "soft_pages": 5,
    "soft_bytes": 2**19,
    "soft_seconds": 30,
    "host_soft_pages": 3,
    "host_soft_bytes": 2**18,
    "host_soft_seconds": 6,
    "host_max_pages": 4,
    "host_max_bytes": 2**19,
    "host_max_seconds": 60,
    "max_hosts": 50,
    "domain_max_pages": 40,
    "domain_max_hosts": 9,
    "max_error_percent": 50,
    "error_minutes": 3,
    "min_free_bytes": 2**30,
    "at_threshold": "stop",
    "wait_alert_minutes": None,
    "exact_order": True,
    "links_weight": -0.5,
    "url_weight": 1_234_567.0 / 2,
    "importance": {"[?&]q=": 10.0, "/a=b/": -1.5},
    "topic": ["event loops", "a longer text = of a page"],
    "path_ascending": True,
    "delay_factor": 0.0,
    "address_delay_seconds": 0.5,
    "host_requests_a_minute": 30,
    "host_requests_a_day": 1000,
    "host_patience_seconds": 1_234_567.0,
    "max_kib_a_second": 512,
    "headers": {"Accept-Language": "de: at best"},
    "cookies": True,
    "connect_seconds": 1.0,
    "first_byte_seconds": 2.0,
    "read_seconds": 3.0,
    "document_seconds": 4.5,
    "archive": False,
    "obey_nofollow": True,
    "requisites": True,
    "extract": {"price": "span[class=price]", "picture": "img::attr(src)"},
    "render": "when_needed",
    "render_rules": {"[?&]app=": "always", "/a=b/": "never"},
    "render_pages": 20,
    "render_seconds": 12,
    "render_bytes": 2**21,
    "render_requests": 40,
    "render_scrolls": 0,
    "render_obeys_robots": False,
    "render_memory_mib": 256,
    "reuse_seconds": 60,
    "revisit_days": 3,
    "visits_a_day": 500,
    "visit_policy": "uniform",
    "deduplicate": "all",
}
SECRET = {
    "credentials": {"127.0.0.1:8900": "me:my = s3cret"},
    "proxy": "socks5://me:s3cret@127.0.0.1:9050",
    "posts": {"http://127.0.0.1:8900/search": "q=books and more"},
    "login_url": SEED,
    "login_fields": {"user": "me=you"},
}
ASKED_OTHERWISE = {"pool", "team", "extractor", "name", "seeds", "claim"}


def answered(**answers: object) -> CrawlForm:
    form = CrawlForm(
        {"seeds": SEED, "name": "Atlas", "preset": "normal", **answers}, capacity=CAPACITY
    )
    form.is_valid()
    return form


def parser() -> ArgumentParser:
    made = ArgumentParser()
    add_order_arguments(made)
    return made


def test_a_form_that_nobody_has_touched_asks_for_the_orders_defaults(db):
    empty = CrawlForm(capacity=CAPACITY)
    shown = {one.input: empty[one.input].value() for one in empty.asked}
    numbers = ("delay_seconds", "error_minutes", "domain_max_hosts", "document_seconds")
    assert [shown[name] for name in numbers] == ["1", "10", "200", "60"]

    made = CrawlOrder(**answered(**shown).order_answers(), name="Atlas", seeds=[SEED])

    assert made == CrawlOrder(name="Atlas", seeds=[SEED])


#: without an archive there is nothing that a budget of visits could take over
@pytest.mark.parametrize("usual", [{"archive": True}, {"visits_a_day": 0}])
def test_a_form_filled_in_from_a_crawl_asks_for_the_same_again(browsers, order, usual):
    assert OTHERWISE.keys() | SECRET.keys() | ASKED_OTHERWISE == set(CrawlOrder.model_fields)
    asked = {**OTHERWISE, "priority": 5, **usual}
    crawl = create_crawl(order(SEED, **asked))

    again = answered(**as_answers(crawl, CAPACITY)).as_order()

    made = CrawlOrder(**{**again, "seeds": [SEED], "name": "Atlas"})
    assert {name: getattr(made, name) for name in asked} == asked


def test_the_page_of_settings_tells_each_field_under_the_heading_of_its_section(browsers, order):
    asked = {**OTHERWISE, **SECRET, "priority": 5, "archive": True}
    page = settings_of(create_crawl(order(SEED, **asked)))

    told = dict([*page.filters_in_words, *page.limits_in_words, *page.asks])

    parts = (FiltersPart, BudgetPart, ThresholdsPart, FetchingPart)
    asked = [one.question for part in parts for one in fields_of(part)]
    assert set(told) == {question.heading or question.label for question in asked}
    assert told["Soft limit"] == "5 pages, 512.0\xa0KB, 30 s"
    assert told["Threshold of failed URLs"] == "50 %"
    assert told["At a threshold"] == "stop; its pages are kept"
    assert told["Alert after waiting"] == "never"
    assert told["Document timeout"] == "4.5 s"
    assert "s3cret" not in str(told)


def test_a_threshold_is_told_with_what_the_run_does_past_it(order):
    page = settings_of(create_crawl(order(SEED, max_error_percent=50)))

    assert page.limits_in_words == [
        ("Threshold of failed URLs", "50 %"),
        ("At a threshold", "pause until an operator resumes it"),
    ]


def test_secrets_are_typed_anew_in_a_copy_and_masked_in_an_edit(order):
    crawl = create_crawl(order(SEED, **SECRET))

    copied, edited = as_answers(crawl, CAPACITY), edit_answers(crawl)

    assert [copied[name] for name in ("credentials", "proxy", "posts", "login_fields")] == [""] * 4
    assert (edited["credentials"], edited["login_fields"]) == (
        "127.0.0.1:8900 me:•••",
        "user = •••",
    )
    assert "s3cret" not in str(copied) + str(edited)


def test_secrets_that_are_typed_are_taken_as_they_are(db):
    typed = {
        "credentials": "127.0.0.1:8900 me:my = s3cret",
        "proxy": SECRET["proxy"],
        "posts": "http://127.0.0.1:8900/search q=books and more",
        "login_url": SEED,
        "login_fields": "user=me=you",
    }

    assert answered(**typed).order_answers() == SECRET


def test_an_edit_leaves_alone_what_its_page_does_not_ask(order):
    crawl = create_crawl(
        order(SEED, order="best_first", importance={"/a/": 3}, claim={"memory": 9})
    )
    page = browser("administrator")
    here = reverse("crawling:scope", args=[crawl.pk])
    form = EditForm(initial=edit_answers(crawl))
    shown = {one.input: form[one.input].value() or "" for one in form.asked}

    page.post(here, {**shown, "max_pages": "8"})

    crawl.refresh_from_db()
    assert (crawl.max_pages, crawl.ordering["importance"], crawl.claim["memory"]) == (
        8,
        {"/a/": 3},
        9,
    )
    assert set(crawl.revisions.get().changes) == {"max_pages"}


@pytest.mark.parametrize("is_new", [True, False])
def test_no_page_asks_a_question_twice(order, is_new):
    crawl = create_crawl(order(SEED))
    where = reverse("crawling:new") if is_new else reverse("crawling:scope", args=[crawl.pk])
    names = [
        found["name"]
        for found in soup(browser("operator").get(where)).select("form.order [name]")
        if found.name != "button"
        and found.get("type") != "radio"
        and found["name"] != "weekdays"  # one name, many boxes
    ]

    assert len(names) == len(set(names))


def test_a_limit_in_the_forms_unit_that_is_no_number_is_told_in_that_unit(pool):
    form = answered(host_max_bytes="", host_max_megabytes="lots")

    form.blame({"host_max_bytes": "must be a whole number"})

    assert form.errors["host_max_megabytes"] == [
        "Megabytes per host must be a number, like 500; leave the field empty for no limit."
    ]


def test_the_command_line_asks_for_fields_of_the_order_in_its_words():
    options = {action.dest: action for action in parser()._actions}

    for one in FIELDS:
        if one.question.option:
            action = options.pop(one.name)
            assert one.question.option in action.option_strings
            assert one.question.meaning in action.help
    assert set(options) == {"help", "file"}


def test_options_are_read_as_the_order_takes_them():
    words = ["--delay", "0.5", "--no-archive", "--cookies", "--include", "a", "--include", "b"]
    words += ["--header", "X-A=b=c", "--importance", "q=1=2", "--claim", "memory=9"]

    assert given_fields(vars(parser().parse_args(words))) == {
        "delay_seconds": "0.5",
        "archive": False,
        "cookies": True,
        "include": ["a", "b"],
        "headers": {"X-A": "b=c"},
        "importance": {"q=1": "2"},
        "claim": {"memory": "9"},
    }


def test_the_schema_describes_every_field():
    properties = CrawlOrder.model_json_schema()["properties"]

    assert {name: field["description"] for name, field in properties.items()} == {
        one.name: one.question.meaning for one in FIELDS
    }

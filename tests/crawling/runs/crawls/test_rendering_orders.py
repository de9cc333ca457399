"""Orders that render pages claim browsers, and are refused where there is none."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from allocation.models import OutboxKind, Process
from allocation.services import set_capacity, unsent_outbox
from crawling.base.errors import BadOrder, WrongState
from crawling.dashboard.management import command_errors
from crawling.dashboard.orders.forms.create import CrawlForm
from crawling.installation.pools import capacity_of
from crawling.models import CrawlJob
from crawling.orders.claims import start_amounts
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.revisions import edit_crawl
from crawling.runs.start import start_run
from tests.crawling.dashboard.orders.test_scope_pages import filled
from tests.crawling.pages import browser, soup

SEED = "http://127.0.0.1:8900/"


def claimed(crawl: CrawlJob) -> tuple[int, int]:
    crawl.refresh_from_db()
    return crawl.claim["browsers"], crawl.claim["browser_memory"]


def maximum(crawl: CrawlJob) -> list[int]:
    return Process.objects.get(run_process__run__crawl=crawl).max_claim[-2:]


def test_an_order_that_renders_claims_the_pages_of_a_worker_and_begins_without_them(
    browsers, order
):
    crawl = create_crawl(order(SEED, render="when_needed"))
    start_run(crawl)

    assert claimed(crawl) == (4, 2048)
    assert maximum(crawl) == [4, 2048]
    assert not {"browsers", "browser_memory"} & start_amounts(crawl.claim).keys()


def test_a_plain_order_claims_none_whatever_its_claim_says(browsers, order):
    crawl = create_crawl(order(SEED, claim={"browsers": 2, "browser_memory": 512}))

    assert claimed(crawl) == (0, 0)


@pytest.mark.parametrize(
    ("fields", "units"),
    [
        ({"render_memory_mib": 1024}, (2, 2048)),
        ({"render_memory_mib": 600}, (3, 1800)),
        ({"claim": {"browsers": 1, "browser_memory": 700}}, (1, 700)),
        ({"claim": {"browsers": 0, "browser_memory": 0}}, (4, 2048)),
    ],
)
def test_the_claim_is_what_the_pages_of_an_order_take(browsers, order, fields, units):
    assert claimed(create_crawl(order(SEED, render="always", **fields))) == units


def test_a_claim_without_memory_for_a_page_is_refused(browsers, order):
    with pytest.raises(BadOrder) as refused:
        create_crawl(order(SEED, render="always", claim={"browser_memory": 511}))

    assert "must be 512 or more" in refused.value.errors["claim.browser_memory"]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"render": "when_needed"}, "render"),
        ({"render_rules": {"/app/": "always"}}, "render_rules"),
    ],
)
def test_without_a_browser_an_order_that_renders_is_refused_with_the_remedy(
    browsers, order, fields, field
):
    set_capacity(pool=browsers.pk, capacity={"browsers": 0, "browser_memory": 0})

    with pytest.raises(BadOrder) as refused:
        create_crawl(order(SEED, **fields))

    assert list(refused.value.errors) == [field]
    assert "make browser" in refused.value.errors[field]


def test_form_command_and_json_refuse_it_alike(order, monkeypatch):
    monkeypatch.setattr(command_errors, "live_workers", lambda: 1)
    operator = browser("operator")
    fields = order(SEED, render="always")

    page = operator.post(reverse("crawling:new"), {"seeds": SEED, "name": "a", "render": "always"})
    answer = operator.post("/api/v1/crawls", json.dumps(fields), content_type="application/json")
    with pytest.raises(CommandError) as refused:
        call_command("crawl", SEED, "--render", "always", stdout=io.StringIO())

    for told in (soup(page).get_text(), answer.content.decode(), str(refused.value)):
        assert "make browser" in told
    assert not CrawlJob.objects.exists()


def test_a_crawl_does_not_start_once_the_browsers_are_gone(browsers, order):
    crawl = create_crawl(order(SEED, render="always"))
    set_capacity(pool=browsers.pk, capacity={"browsers": 0, "browser_memory": 0})

    with pytest.raises(WrongState, match="make browser"):
        start_run(crawl)

    assert not crawl.runs.exists()


def test_a_run_that_begins_to_render_gets_its_claim_at_once_and_gives_it_up_again(browsers, order):
    crawl = create_crawl(order(SEED))
    start_run(crawl)

    edit_crawl(crawl, {"render_rules": {"/app/": "always"}})
    assert (claimed(crawl), maximum(crawl)) == ((4, 2048), [4, 2048])

    edit_crawl(crawl, {"render_rules": {}})
    assert (claimed(crawl), maximum(crawl)) == ((0, 0), [0, 0])


def test_an_edit_that_does_not_concern_it_leaves_the_claim_of_a_live_run(browsers, order):
    crawl = create_crawl(order(SEED, render="always", claim={"browsers": 2}))
    start_run(crawl)

    edit_crawl(crawl, {"render_seconds": 9, "max_pages": 7})

    assert claimed(crawl)[0] == 2


def test_a_message_says_which_classes_a_process_claims(browsers, order):
    for name, fields in (("plain", {}), ("rendering", {"render": "always"})):
        start_run(create_crawl({**order(SEED, **fields), "name": name}))

    plain, rendering = unsent_outbox(kinds=[OutboxKind.START])
    assert (
        {"worker", "archive_writers"}
        <= plain.claimed
        == rendering.claimed
        - {
            "browsers",
            "browser_memory",
        }
    )
    assert "browsers" in rendering.claimed


def test_the_form_asks_for_browsers_where_there_are_some(browsers):
    def asked() -> set[str]:
        return {
            name for name in CrawlForm(capacity=capacity_of(browsers)).fields if "brows" in name
        }

    assert asked() == {"claim_browsers", "claim_browser_memory"}
    set_capacity(pool=browsers.pk, capacity={"browsers": 0, "browser_memory": 0})
    browsers.refresh_from_db()
    assert asked() == set()


def test_the_form_of_an_edit_asks_which_pages_are_rendered(browsers, order):
    crawl, operator = create_crawl(order(SEED)), browser("operator")
    address = reverse("crawling:scope", args=[crawl.pk])
    sent = filled(operator.get(address))
    assert sent["render"] == "never"
    operator.post(address, {**sent, "render": "when_needed"})

    assert claimed(crawl) == (4, 2048)
    assert crawl.order.rendering.render == "when_needed"


def test_the_command_line_has_the_limits_of_rendering(browsers, loopback, monkeypatch):
    monkeypatch.setattr(command_errors, "live_workers", lambda: 1)
    limits = {"seconds": 9, "bytes": 2_000_000, "requests": 7, "scrolls": 2, "memory_mib": 256}
    given = [f"--render-{name.replace('_', '-')}={value}" for name, value in limits.items()]
    call_command("crawl", SEED, "--name=x", "--render=always", *given, stdout=io.StringIO())

    part = CrawlJob.objects.get(name="x").order.rendering
    assert {name: getattr(part, f"render_{name}") for name in limits} == limits

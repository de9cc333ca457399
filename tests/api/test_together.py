"""Programs can do all that pages can: many crawls at once, hosts, tokens, templates, saved views,
drafts, and how things stand.
"""

from __future__ import annotations

import pytest

from crawling.jobs.running import run_job
from crawling.models import BlocklistEntry, CrawlJob, Host, Inquiry, OrderTemplate
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.revisions import edit_crawl
from crawling.runs.start import start_run
from crawlsite.models import ApiToken
from tests.api.conftest import SEED, Program


@pytest.fixture
def crawl(order):
    return create_crawl(order(SEED, headers={"X-Key": "s3cret"}, max_pages=7))


def test_many_crawls_are_steered_and_tagged_at_once_and_what_could_not_be_is_told(operator, order):
    crawls = [start_run(create_crawl(order(SEED, name=name))).crawl for name in ("one", "two")]
    draft = create_crawl(order(SEED, name="draft"))

    status, done = operator(
        "POST", "bulk-actions", {"action": "pause", "crawls": [crawls[0].pk, draft.pk]}
    )
    assert (status, done["chosen"], done["changed"]) == (200, 2, 1)
    assert done["refused"] == ["draft has never been started."]

    assert (
        operator("POST", "bulk-actions", {"action": "stop", "filter": {"q": "two"}})[1]["changed"]
        == 1
    )
    assert (
        operator("POST", "bulk-actions", {"action": "tag", "filter": {}, "tags": ["June"]})[1][
            "changed"
        ]
        == 3
    )
    assert operator("POST", "bulk-actions", {"action": "tag", "filter": {}})[0] == 422
    assert (
        operator("POST", "bulk-actions", {"action": "pause", "filter": {"q": "nothing"}})[0] == 409
    )


def test_a_host_is_blocked_and_let_go_and_found_by_its_name(administrator, operator, order):
    start_run(create_crawl(order(SEED)))
    host = Host.objects.get()
    assert administrator("PUT", f"hosts/{host.pk}/block", {"reason": " "})[0] == 422
    status, known = administrator("PUT", f"hosts/{host.pk}/block", {"reason": "asked for"})
    assert (status, known["blocked"], known["visitors"][0]["name"]) == (200, "asked for", "a crawl")
    assert [one["name"] for one in operator.get("hosts?state=blocked&q=127")["items"]] == [
        host.name
    ]

    assert operator("DELETE", f"hosts/{host.pk}/block")[0] == 403
    assert administrator("DELETE", f"hosts/{host.pk}/block") == (204, None)
    assert operator.get(f"hosts/{host.pk}")["blocked"] is None
    assert BlocklistEntry.objects.filter(removed_at=None).count() == 0


def test_a_token_is_made_used_listed_and_revoked_and_others_are_out_of_reach(
    people, operator, programs
):
    session = Program()
    session.client.force_login(people["operator"])
    status, made = session("POST", "tokens", {"name": "nightly", "days": 3})
    assert status == 201
    assert made["token"] not in str(operator.get("tokens"))
    assert Program(made["token"]).get("tokens")["items"][0]["name"] == "nightly"
    assert session("POST", "tokens", {"name": "nightly"})[0] == 422

    assert programs["viewer"]("DELETE", f"tokens/{made['id']}")[0] == 404
    assert operator("DELETE", f"tokens/{made['id']}")[0] == 204
    assert Program(made["token"])("GET", "tokens")[0] == 401
    assert ApiToken.objects.filter(name="nightly").count() == 0


def test_a_view_is_saved_for_oneself(operator, programs):
    assert (
        operator("POST", "views", {"name": "Failed", "query": "state=failed&after=3"})[1]["query"]
        == "state=failed"
    )
    [view] = operator.get("views")["items"]
    assert programs["viewer"].get("views")["items"] == []
    assert programs["viewer"]("DELETE", f"views/{view['id']}")[0] == 404
    assert operator("DELETE", f"views/{view['id']}")[0] == 204


def test_an_order_is_tested_before_it_is_a_crawl(operator, make_site):
    site = make_site({"/": (200, {"Content-Type": "text/html"}, '<a href="/a">a</a>')})
    order = {"name": "new", "seeds": [f"{site.url}/"]}
    status, tested = operator(
        "POST",
        "drafts/test-scope",
        {"order": order, "urls": [f"{site.url}/a", "http://elsewhere.test/"]},
    )
    assert (status, [one["admits"] for one in tested["items"]]) == (200, [True, False])
    assert (
        "order.seeds"
        in operator(
            "POST", "drafts/test-scope", {"order": {**order, "seeds": ["x"]}, "urls": ["x"]}
        )[1]["errors"]
    )

    status, asked = operator("POST", "drafts/test-fetches", order)
    assert (status, asked["state"]) == (202, "waiting")
    place = asked["result"].removeprefix("/api/v1/")
    assert operator.get(place) == {"state": "waiting", "trouble": "", "items": []}
    run_job(Inquiry.objects.get().pk)
    tried = operator.get(place)
    assert (tried["state"], tried["items"][0]["status"]) == ("answered", 200)
    assert tried["items"][0]["links"] == 1
    assert not CrawlJob.objects.exists()


def test_how_things_stand_and_why_a_run_is_not_fetching(operator, order):
    crawl = start_run(create_crawl(order(SEED))).crawl
    operator("POST", f"crawls/{crawl.pk}/pause")

    assert operator.get("overview")["states"] == {"paused": 1}
    assert operator.get(f"crawls/{crawl.pk}/diagnosis")["cause"] == "paused"
    host = Host.objects.get()
    assert "the host is an address" in operator.get(f"hosts/{host.pk}/name-wait")["sentences"][0]
    assert operator.get("pages?q=manual") == {"items": [], "is_more": False}
    assert operator("GET", "pages?q=ma")[0] == 422


def test_who_crawls_is_said_and_what_is_wrong_with_it_is_told(administrator):
    assert administrator("PUT", "identity", {"product_token": "two words", "contact_url": "x"})[1][
        "errors"
    ].keys() == {
        "product_token",
        "contact_url",
    }
    assert (
        administrator(
            "PUT", "identity", {"product_token": "bot", "contact_url": "mailto:ops@example.org"}
        )[0]
        == 200
    )
    assert administrator.get("identity")["user_agent"] == "bot/1.0 (+mailto:ops@example.org)"


def test_an_edit_is_taken_back_and_later_edits_of_other_fields_stay(operator, crawl):
    edit_crawl(crawl, {"max_pages": 70, "delay_seconds": 9})
    edit_crawl(crawl, {"max_depth": 3})
    status, reverted = operator("POST", f"crawls/{crawl.pk}/revisions/2/revert")
    assert (
        status,
        [reverted["order"][name] for name in ("max_pages", "delay_seconds", "max_depth")],
    ) == (200, [7, 0.0, 3])
    assert operator("POST", f"crawls/{crawl.pk}/revisions/9/revert")[0] == 404


def test_a_template_keeps_an_order_without_its_secrets_and_makes_crawls(operator, crawl):
    status, template = operator("POST", f"crawls/{crawl.pk}/templates", {"name": "Manuals"})
    assert (status, template["order"]["max_pages"]) == (201, 7)
    assert "headers" not in template["order"]
    assert operator("POST", f"crawls/{crawl.pk}/templates", {"name": "Manuals"})[0] == 422

    status, made = operator(
        "POST", f"templates/{template['id']}/crawls", {"name": "June", "max_pages": 8}
    )
    assert (status, made["order"]["max_pages"], made["seeds"]) == (201, 8, crawl.seeds)
    assert operator("POST", f"templates/{template['id']}/crawls", {"name": "June"})[0] == 422
    assert operator("DELETE", f"templates/{template['id']}")[0] == 204
    assert not OrderTemplate.objects.exists()

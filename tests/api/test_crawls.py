"""Making, listing, editing and deleting crawls."""

from __future__ import annotations

import json

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import call_command
from django.core.management.base import CommandError

from crawling.models import CrawlJob, Host, LogLine, Page, Run, Shift, Url
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.runs.steering import pause
from tests.api.conftest import SEED
from tests.crawling.orders.test_bad_input import BAD

ORDER = {"name": "a crawl", "seeds": [SEED], "max_pages": 10}


def last_action() -> dict:
    return json.loads(LogEntry.objects.order_by("-pk").first().change_message)


def test_an_order_becomes_a_draft_with_everything_that_it_did_not_say(operator, people):
    status, crawl = operator("POST", "crawls", ORDER)

    assert (status, crawl["state"], crawl["reason"], crawl["discovered"]) == (
        201,
        "draft",
        "Not started yet.",
        0,
    )
    assert (
        crawl["order"]["max_pages"],
        crawl["order"]["batch_size"],
        crawl["order"]["claim"]["worker"],
    ) == (10, 100, 1)
    assert CrawlJob.objects.get().created_by == people["operator"]
    assert operator.get(f"crawls/{crawl['id']}") == crawl


@pytest.mark.parametrize(("fields", "field", "sentence"), BAD.values(), ids=BAD)
def test_each_mistake_is_told_as_everywhere_else(operator, fields, field, sentence):
    status, problem = operator("POST", "crawls", {**ORDER, **fields})

    assert status == 422
    assert list(problem["errors"]) == [field]
    assert sentence in problem["errors"][field]
    assert problem["detail"] == f"{field}: {problem['errors'][field]}"
    assert not CrawlJob.objects.exists()


def test_a_new_crawl_takes_the_tags_that_it_is_shown_with(operator):
    tagged = {**ORDER, "tags": ["old", " June  2026", "old"]}

    status, crawl = operator("POST", "crawls", tagged, **{"Idempotency-Key": "k"})
    again = operator("POST", "crawls", tagged, **{"Idempotency-Key": "k"})
    other = {**ORDER, "tags": ["new"]}
    refused, _ = operator("POST", "crawls", other, **{"Idempotency-Key": "k"})

    assert (status, crawl["tags"]) == (201, ["June 2026", "old"])
    assert "tags" not in crawl["order"]
    assert (again[0], again[1]["id"], refused) == (200, crawl["id"], 409)


@pytest.mark.parametrize("tags", ["old", [1], ["x" * 1000], [f"tag {n}" for n in range(1000)]])
def test_wrong_tags_of_a_new_crawl_are_told_with_the_other_mistakes(operator, tags):
    status, problem = operator("POST", "crawls", {**ORDER, "tags": tags, "max_pages": 0})

    assert (status, set(problem["errors"])) == (422, {"tags", "max_pages"})
    assert operator("POST", "crawls", {**ORDER, "tags": tags})[0] == 422
    assert not CrawlJob.objects.exists()


def test_a_taken_name_is_told_together_with_the_other_mistakes(operator):
    operator("POST", "crawls", ORDER)
    _, problem = operator("POST", "crawls", {**ORDER, "max_pages": 0})
    assert set(problem["errors"]) == {"name", "max_pages"}

    other = operator("POST", "crawls", {**ORDER, "name": "other"})[1]["id"]
    _, problem = operator("PATCH", f"crawls/{other}", {"name": ORDER["name"], "max_depth": -1})
    assert set(problem["errors"]) == {"name", "max_depth"}


def test_the_command_line_says_the_same(operator, worker):
    _, problem = operator(
        "POST",
        "crawls",
        {"name": "x", "seeds": ["nonsense"], "max_pages": -3, "claim": {"gold": 1}},
    )

    with pytest.raises(CommandError) as caught:
        call_command("crawl", "nonsense", "--name", "x", "--max-pages", "-3", "--claim", "gold=1")

    told = dict(line.strip().split(": ", 1) for line in str(caught.value).splitlines()[1:])
    # the command line has texts where JSON has numbers
    assert {**told, "claim.gold": problem["errors"]["claim.gold"]} == problem["errors"]


@pytest.mark.parametrize(
    ("body", "status"),
    [("{", 400), ("[1]", 422), ("null", 422), ("", 422), ('{"seeds": "\\ud800"}', 422)],
)
def test_a_body_that_is_no_order_is_refused_in_a_sentence(operator, body, status):
    answer = operator.client.post(
        "/api/v1/crawls", body, content_type="application/json", headers=operator.headers
    )

    assert answer.status_code == status
    assert answer.json()["detail"]


def test_a_request_sent_twice_under_one_key_makes_one_crawl(operator):
    first, crawl = operator("POST", "crawls", ORDER, **{"Idempotency-Key": "k1"})
    again, same = operator(
        "POST", "crawls", {**reversed_fields(ORDER)}, **{"Idempotency-Key": "k1"}
    )

    assert (first, again) == (201, 200)
    assert same == crawl
    assert CrawlJob.objects.count() == 1


def test_a_key_is_good_for_one_order_and_one_user(operator, administrator):
    operator("POST", "crawls", ORDER, **{"Idempotency-Key": "k1"})

    status, problem = operator(
        "POST", "crawls", {**ORDER, "name": "other"}, **{"Idempotency-Key": "k1"}
    )
    assert status == 409
    assert "needs a new key" in problem["detail"]
    assert (
        administrator("POST", "crawls", {**ORDER, "name": "other"}, **{"Idempotency-Key": "k1"})[0]
        == 201
    )


def reversed_fields(order):
    return dict(reversed(order.items()))


def test_a_list_of_crawls_stands_still_while_others_are_made(operator, order):
    for number in range(5):
        create_crawl(order(SEED, name=f"crawl {number}"))

    first = operator.get("crawls?limit=2")
    create_crawl(order(SEED, name="late"))
    second = operator.get(f"crawls?limit=2&cursor={first['next']}")
    third = operator.get(f"crawls?limit=2&cursor={second['next']}")

    names = [crawl["name"] for page in (first, second, third) for crawl in page["items"]]
    assert names == [f"crawl {number}" for number in (4, 3, 2, 1, 0)]
    assert third["next"] is None


def test_crawls_are_found_by_state_and_by_name(operator, order):
    claim = {"bandwidth": 60_000}
    for name in ("holder", "waiter", "paused", "draft"):
        create_crawl(order(SEED.replace("8900", str(8900 + len(name))), name=name, claim=claim))
    crawls = {crawl.name: crawl for crawl in CrawlJob.objects.all()}
    for name in ("holder", "waiter", "paused"):
        start_run(crawls[name])
    pause(crawls["paused"])

    def found(query):
        return [crawl["name"] for crawl in operator.get(f"crawls?{query}")["items"]]

    assert found("state=waiting") == ["waiter"]
    assert found("state=queued") == ["holder"]
    assert found("state=paused") == ["paused"]
    assert found("state=draft") == ["draft"]
    assert found("q=AIT") == ["waiter"]
    assert operator("GET", "crawls?state=asleep")[0] == 422


def test_the_list_takes_the_same_queries_however_many_crawls_there_are(
    operator, order, django_assert_max_num_queries
):
    for number in range(10):
        start_run(create_crawl(order(f"http://127.0.0.{number + 1}:8900/", name=f"crawl {number}")))

    for query in ("", "?state=waiting"):
        with django_assert_max_num_queries(22):
            operator.get(f"crawls{query}")


def test_a_crawl_says_what_it_holds_what_it_waits_for_and_who_is_in_its_way(operator, order):
    holder = create_crawl(
        order("http://127.0.0.1:8900/", name="holder", claim={"bandwidth": 60_000})
    )
    waiter = create_crawl(
        order("http://127.0.0.1:8901/", name="waiter", claim={"bandwidth": 60_000})
    )
    start_run(holder)
    start_run(waiter)

    [holds] = operator.get(f"crawls/{holder.pk}")["resources"]
    [waits] = operator.get(f"crawls/{waiter.pk}")["resources"]

    assert {"bandwidth": 60_000}.items() <= {
        one["resource"]: one["units"] for one in holds["holdings"]
    }.items()
    assert holds["wait"] is None
    assert waits["holdings"] == []
    assert waits["wait"]["verdict"] == "wait_unavailable"
    assert [blocker["name"] for blocker in waits["wait"]["blockers"]] == ["holder"]
    [release] = waits["wait"]["cheapest_release"]
    assert (release["name"], release["amounts"]["bandwidth"]) == ("holder", 60_000)


def test_limits_and_delay_are_edited_and_who_did_it_is_kept(operator, people, order):
    crawl = create_crawl(order(SEED))
    run = start_run(crawl)

    status, edited = operator(
        "PATCH", f"crawls/{crawl.pk}", {"name": "new", "max_pages": 7, "delay_seconds": 2}
    )

    assert (
        status,
        edited["name"],
        edited["order"]["max_pages"],
        edited["order"]["delay_seconds"],
    ) == (200, "new", 7, 2)
    assert LogEntry.objects.order_by("-pk").first().user == people["operator"]
    assert last_action() == {
        "action": "edited",
        "changes": {
            "name": ["a crawl", "new"],
            "max_pages": [None, 7],
            "delay_seconds": [0.0, 2.0],
        },
    }
    assert "max_pages from no limit to 7" in LogLine.objects.filter(run=run).last().message


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"max_pages": 0}, "max_pages", "1 or more"),
        ({"delay_seconds": True}, "delay_seconds", "whole number"),
        ({"seeds": [SEED]}, "seeds", "cannot be edited"),
        ({"name": "taken"}, "name", "choose another name"),
        ({"colour": 1}, "colour", "cannot be edited"),
    ],
)
def test_an_edit_is_checked_like_an_order(operator, order, fields, field, sentence):
    crawl = create_crawl(order(SEED))
    create_crawl(order(SEED, name="taken"))

    status, problem = operator("PATCH", f"crawls/{crawl.pk}", {**fields, "max_depth": 3})

    assert (status, list(problem["errors"])) == (422, [field])
    assert sentence in problem["errors"][field]
    crawl.refresh_from_db()
    assert crawl.max_depth is None


def test_a_crawl_is_deleted_with_all_that_it_found_and_the_audit_remembers_it(
    transactional_db, operator, make_site, crawl_to_the_end
):
    run = crawl_to_the_end(f"{make_site({'/': '<a href=/a>a</a>', '/a': ''}).url}/")

    assert operator("DELETE", f"crawls/{run.crawl_id}") == (204, None)

    entry = LogEntry.objects.order_by("-pk").first()
    assert (entry.object_repr, last_action()["action"]) == ("a crawl", "deleted")
    assert operator("GET", f"crawls/{run.crawl_id}")[0] == 404
    assert operator("DELETE", f"deleted/crawl/{run.crawl_id}?name=a crawl") == (204, None)
    for model in (CrawlJob, Run, Url, Page, Shift, LogLine):
        assert not model.objects.exists()
    assert Host.objects.exists()


def test_a_draft_can_be_deleted_and_a_crawl_at_work_cannot(operator, order):
    draft, live = create_crawl(order(SEED, name="draft")), create_crawl(order(SEED, name="live"))
    start_run(live)

    assert operator("DELETE", f"crawls/{draft.pk}")[0] == 204
    status, problem = operator("DELETE", f"crawls/{live.pk}")
    assert status == 409
    assert "stop it and wait for its end" in problem["detail"]
    assert list(CrawlJob.objects.values_list("name", flat=True)) == ["live"]


def test_a_crawl_that_is_not_there_is_said_so(operator):
    for method, path in [
        ("GET", ""),
        ("PATCH", ""),
        ("DELETE", ""),
        ("POST", "/start"),
        ("GET", "/pages"),
        ("POST", "/retry-failed"),
    ]:
        assert operator(method, f"crawls/99{path}", {} if method == "PATCH" else None) == (
            404,
            {"detail": "There is no crawl 99."},
        )

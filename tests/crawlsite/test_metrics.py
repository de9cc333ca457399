"""`/metrics` shows the rows to programs with the permission only."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.contrib.auth.models import Group, User
from prometheus_client.parser import text_string_to_metric_families

from allocation.models import Event, Pool, Request
from allocation.services import (
    NewClass,
    create_pool,
    keep_checkpoints,
    register_process,
    request_resources,
)
from crawling.models import Run, RunRendering
from crawling.runs.crawls.creation import create_crawl
from crawlsite.administration.accounts import make_roles
from crawlsite.tokens import make_token
from tests.crawling.conftest import order_of

pytestmark = [pytest.mark.django_db]


@pytest.fixture
def pool() -> Pool:
    """One holds 6 of 8, another waits for 4."""
    pool = create_pool(name="default", classes=[NewClass("slots", "slots", "For tests.", 8)])
    for label, units in (("holder", 6), ("waiter", 4)):
        process = register_process(pool=pool.pk, label=label, run_ref="", maximum={"slots": units})
        request_resources(process=process.pk, amounts={"slots": units}, request_id=uuid4())
    return pool


@pytest.fixture
def token() -> str:
    make_roles()
    user = User.objects.create_user("prometheus")
    user.groups.set(Group.objects.filter(name="viewer"))
    return make_token(user, "scrapes")


def scrape(client, token) -> dict[tuple, float]:
    answer = client.get("/metrics", headers={"Authorization": f"Bearer {token}"})
    assert (answer.status_code, answer["Content-Type"]) == (
        200,
        "text/plain; version=0.0.4; charset=utf-8",
    )
    families = text_string_to_metric_families(answer.content.decode())
    return {
        (one.name, *one.labels.values()): one.value for family in families for one in family.samples
    }


def test_renderings_are_told_by_the_reason_of_their_end(client, token, pool):
    for name, ended in (("a", {"-50": 2}), ("b", {"-50": 1, "-52": 4})):
        crawl = create_crawl(order_of("http://127.0.0.1:8900/") | {"name": name})
        RunRendering.objects.create(
            run=Run.objects.create(crawl=crawl, number=1), pages=9, ended=ended
        )

    found = scrape(client, token)

    assert found["crawlsite_rendered_pages",] == 18
    assert found["crawlsite_renderings_ended", "-50"] == 3
    assert found["crawlsite_renderings_ended", "-52"] == 4


def test_units_waits_and_safety_are_told_by_pool_and_class(client, token, pool):
    found = scrape(client, token)

    assert found["crawlsite_pool_capacity_units", "default", "slots"] == 8
    assert found["crawlsite_pool_available_units", "default", "slots"] == 2
    assert found["crawlsite_pool_conservation_error_units", "default", "slots"] == 0
    assert found["crawlsite_pool_waiting_requests", "default"] == 1
    assert found["crawlsite_pool_is_safe", "default"] == 1
    assert found["crawlsite_runs", "running"] == 0


def test_age_of_the_oldest_wait_grows(client, token, pool):
    Request.objects.filter(state="waiting").update(created_at="2026-01-01T00:00Z")

    assert scrape(client, token)["crawlsite_pool_oldest_wait_seconds", "default"] > 3600


@pytest.mark.parametrize("every", [2, 1000])
def test_totals_are_the_ledgers_whether_or_not_a_checkpoint_counted_them(
    client, token, pool, monkeypatch, every
):
    monkeypatch.setattr("allocation.history.checkpoints.EVERY", every)
    assert (keep_checkpoints() > 0) == (every == 2)

    found = scrape(client, token)

    assert found["crawlsite_pool_decisions_total", "default"] == 2
    assert found["crawlsite_pool_events_total", "registered", "default"] == 2
    assert (
        sum(count for (name, *_), count in found.items() if name == "crawlsite_pool_events_total")
        == Event.objects.count()
    )


def test_missing_units_are_counted(client, token, pool):
    Pool.objects.update(available=[1])

    assert scrape(client, token)["crawlsite_pool_conservation_error_units", "default", "slots"] == 1


def test_scrape_without_a_pool_is_no_error(client, token):
    assert scrape(client, token)["crawlsite_runs", "failed"] == 0


@pytest.mark.parametrize(("credentials", "status"), [("", 401), ("Bearer nonsense", 401)])
def test_whoever_has_no_token_is_refused_on_loopback_too(client, credentials, status):
    answer = client.get("/metrics", headers={"Authorization": credentials} if credentials else {})

    assert (answer.status_code, answer["WWW-Authenticate"]) == (status, "Bearer")


def test_whoever_may_not_view_pools_is_refused(client):
    token = make_token(User.objects.create_user("nobody"), "scrapes")

    assert client.get("/metrics", headers={"Authorization": f"Bearer {token}"}).status_code == 403

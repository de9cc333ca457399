"""Health checks: what works is told apart from what does not."""

from __future__ import annotations

import pytest
import redis
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from crawling.scheduler.leader import Leadership
from crawlsite.health import probes, report
from crawlsite.tokens import make_token


def test_the_process_says_that_it_answers_without_asking_anybody(client):
    assert client.get("/healthz").content == b"ok\n"


@pytest.mark.django_db
def test_ready_names_each_part(client):
    answer = client.get("/readyz")

    assert answer.status_code == 200
    assert (answer.json()["postgresql"], answer.json()["redis"]) == ("ok", "ok")
    assert answer.json()["scheduler"] == "none: no crawl starts"


@pytest.mark.django_db
def test_ready_costs_little_however_often_anybody_asks(
    client, django_assert_max_num_queries, monkeypatch
):
    client.get("/readyz")
    # files were read the first time
    monkeypatch.setattr("crawlsite.health.probes.MigrationLoader", None)

    with django_assert_max_num_queries(6):
        assert client.get("/readyz").status_code == 200


@pytest.mark.django_db
def test_ready_knows_of_a_scheduler(client):
    leadership = Leadership()
    try:
        assert leadership.is_held()
        assert client.get("/readyz").json()["scheduler"] == "ok"
    finally:
        leadership.close()


@pytest.mark.django_db
def test_not_ready_without_redis(client, settings, monkeypatch):
    monkeypatch.setattr(
        "crawlsite.health.probes.django_rq.get_connection",
        lambda name: redis.Redis(unix_socket_path="/nonexistent.sock"),
    )

    answer = client.get("/readyz")

    assert answer.status_code == 503
    assert answer.json()["redis"] == "no answer: ConnectionError"


@pytest.mark.django_db
def test_not_ready_before_the_migrations(client, admin_client):
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'crawling'")

    answer = client.get("/readyz")

    assert answer.status_code == 503
    assert answer.json()["postgresql"] == "not ready"
    assert "migrations are to be run" in admin_client.get("/readyz").json()["postgresql"]


@pytest.mark.django_db
def test_ready_tells_numbers_to_users_only(client, admin_user, monkeypatch):
    monkeypatch.setattr(probes, "live_workers", lambda: 7)
    monkeypatch.setattr(report, "KEPT_SECONDS", -1)
    nobody = User.objects.create_user("nobody")
    heads = [
        *({}, {"Authorization": "Bearer made-up"}, {"X-Forwarded-For": "127.0.0.1"}),
        {"Authorization": f"Bearer {make_token(nobody, 'a')}"},
        {"Authorization": f"Bearer {make_token(admin_user, 'a')}"},
    ]

    told = [client.get("/readyz", headers=one) for one in heads]

    assert [answer.json()["workers"] for answer in told] == ["ok"] * 4 + ["7 for crawls"]
    assert [any(map(str.isdigit, answer.text)) for answer in told] == [False] * 4 + [True]


def test_being_asked_often_costs_nothing(db, client, monkeypatch):
    monkeypatch.setattr(report, "KEPT_SECONDS", 600)
    monkeypatch.setattr(report, "_told", (-600.0, {}, 503))
    first = client.get("/readyz")

    with CaptureQueriesContext(connection) as queries:
        again = client.get("/readyz")

    assert (again.status_code, again.content, len(queries)) == (first.status_code, first.content, 0)

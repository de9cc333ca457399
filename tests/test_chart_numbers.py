"""The numbers behind every chart are also a table, from a link on its page."""

from __future__ import annotations

import csv
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from allocation.models import Pool
from allocation.services import create_pool
from dnscache.models import DnsMinute
from experiments.models import ExperimentRequest
from experiments.store import make_experiment
from tests.crawling.conftest import CLASSES
from tests.crawling.pages import soup


@pytest.fixture
def boss(client, db):
    create_pool(name="default", classes=CLASSES)
    client.force_login(User.objects.create_superuser("boss"))
    return client


def rows(client, page):
    """Of the file that the page's only link to one leads to."""
    [link] = soup(client.get(page)).select("main a[download]")
    answer = client.get(link["href"])
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    assert answer["Content-Disposition"].startswith("attachment")
    return list(csv.DictReader(content.decode().splitlines()))


def test_names_by_minute(boss):
    counts = dict.fromkeys(("stale", "asked", "failed", "cut"), 0)
    DnsMinute.objects.create(
        minute=timezone.now(),
        memory=10,
        database=200,
        lookup=9,
        waited_seconds=3,
        waits=[1] * 8,
        **counts,
    )

    [row] = rows(boss, "/dns/")

    assert (row["memory"], row["database"], row["lookup"], row["waited_seconds"]) == (
        "10",
        "200",
        "9",
        "3.0",
    )


def test_a_pool_over_time(boss):
    found = rows(boss, f"/resources/{Pool.objects.get().pk}/history/")

    assert len(found) == 60
    assert (found[-1]["bandwidth reserved, %"], found[-1]["waiting requests"]) == ("0", "0")
    assert boss.get("/resources/99/history.csv").status_code == 404


def test_every_try_of_an_experiment(boss):
    experiment = make_experiment(requests=1, bound_seconds=0.3, seed=1, policies=["naive"])
    now = timezone.now()
    ExperimentRequest.objects.create(
        experiment=experiment,
        policy="naive",
        number=1,
        attempt=1,
        started_at=now,
        ended_at=now + timedelta(seconds=1),
        waited_seconds=0.25,
        outcome="completed",
        deadlocked=False,
        pages=3,
        detail="=SUM(A1)",
    )

    [row] = rows(boss, experiment.get_absolute_url())

    assert (row["number"], row["waited_seconds"], row["pages"], row["detail"]) == (
        "1",
        "0.25",
        "3",
        "'=SUM(A1)",
    )

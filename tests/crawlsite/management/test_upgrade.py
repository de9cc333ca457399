"""An installation of each dated version is upgraded with all that it has."""

from __future__ import annotations

import gzip
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import psycopg
import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connections
from psycopg import sql

from experiments.models import Experiment
from experiments.runner import BEGUN
from tests.crawlsite.management.release_database import FOLDER
from tests.stack import database_url

#: the beginning of the checksum of each migration of a dated version
AS_RELEASED = {
    "allocation/0001_pools_and_processes.py": "20e78f9484bd",
    "allocation/0002_events.py": "2d4b83e7faee",
    "allocation/0003_server_functions.py": "554cc4a6cc96",
    "sql/within.sql": "0e8e8a610016",
    "sql/begin_shift.sql": "c1c1e82e0368",
    "sql/conservation.sql": "c6cd5242ac46",
    "sql/event_is_final.sql": "d79a909a3eed",
    "sql/grant.sql": "0e3b38084407",
    "sql/locked.sql": "367c30462800",
    "sql/matrix_cell.sql": "779fb71b9ad1",
    "sql/release.sql": "26c37f1e095d",
    "sql/vector.sql": "845ea348dc03",
    "sql/write_grant.sql": "98d308de8ca5",
    "sql/write_release.sql": "560a6882b70d",
    "crawling/0001_teams_and_access.py": "3fe820924a4b",
    "crawling/0002_crawls_and_runs.py": "e9fc21366659",
    "crawling/0003_urls_and_hosts.py": "a1c241473b1d",
    "crawling/0004_archive_and_pages.py": "794e6dde19d3",
    "crawling/0005_jobs_and_plans.py": "ec8ef72d577d",
    "crawlsite/0001_tokens_and_preferences.py": "884047e09452",
    "dnscache/0001_names_and_regions.py": "2a7fd7e37cf8",
    "experiments/0001_requests.py": "9f7be7be4594",
    "alerts/0001_listeners.py": "d7c61a48c2f2",
    "watches/0001_watched_pages.py": "ef67072b8091",
}
#: tables in which Django writes rows for each new model
OF_MODELS = {"django_content_type", "auth_permission"}


@pytest.fixture(
    scope="module", params=sorted(FOLDER.glob("*.sql.gz")), ids=lambda path: path.name[:-7]
)
def older(request, django_db_blocker) -> Iterator[str]:
    """Django's name for a database of that version, which no other test knows."""
    name = f"older_{uuid.uuid4().hex}"
    with psycopg.connect(database_url("postgres"), autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        with psycopg.connect(database_url(name)) as database:
            database.execute(gzip.decompress(request.param.read_bytes()))
        connections.databases["older"] = connections.databases["default"] | {"NAME": name}
        with django_db_blocker.unblock():
            yield "older"
            connections["older"].close()
        del connections["older"], connections.databases["older"]
        server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def rows(database: str) -> dict[str, int]:
    """Of each table that is there, how many."""
    with connections[database].cursor() as cursor:
        there = connections[database].introspection.table_names(cursor)
        counts = {}
        for table in there:
            cursor.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table)))
            counts[table] = cursor.fetchone()[0]
    return counts


def has_column(database: str, table: str, column: str) -> bool:
    with connections[database].cursor() as cursor:
        there = connections[database].introspection.get_table_description(cursor, table)
    return column in {one.name for one in there}


#: of an experiment of version 0.2: its columns there, and the state and the words of its job
EXPERIMENTS = {
    1001: ("'queued', NULL, NULL, NULL", ("failed", "not begun")),
    1002: ("'running', now(), NULL, NULL", ("working", "")),
    1003: ("'finished', now(), now(), NULL", ("done", "")),
    1004: ("'broken_off', now(), now(), NULL", ("failed", "was ended")),
    1005: ("'cancelled', now(), now(), now()", ("cancelled", "by the command line")),
    1006: ("'running', now(), NULL, now()", ("cancelled", "by the command line")),
}


@dataclass(frozen=True)
class Upgrade:
    """An upgraded database, with the number of rows that each table had before."""

    database: str
    before: dict[str, int]
    #: whether experiments had no jobs
    had_no_jobs: bool


@pytest.fixture(scope="module")
def upgrade(older) -> Upgrade:
    """The upgrade of a database, with an experiment in each state."""
    had_no_jobs = has_column(older, "experiments_experiment", "state")
    if had_no_jobs:
        with connections[older].cursor() as cursor:
            for number, (columns, _) in EXPERIMENTS.items():
                cursor.execute(
                    "INSERT INTO experiments_experiment (id, requests, bound_seconds, seed,"
                    " policies, created_at, state, started_at, finished_at, cancelled_at)"
                    f" VALUES ({number}, 2, 1, 1, '{{naive}}', '2026-11-01', {columns})"
                )
    before = rows(older)
    call_command("migrate", database=older, verbosity=0)
    return Upgrade(older, before, had_no_jobs)


def test_a_database_of_a_dated_version_is_upgraded_with_all_rows(upgrade):
    before, after = dict(upgrade.before), rows(upgrade.database)

    kept = before.keys() & after.keys() - {"django_migrations"} - OF_MODELS
    if upgrade.had_no_jobs:
        before["crawling_backgroundjob"] += before["experiments_experiment"]
    assert {table: after[table] for table in kept} == {table: before[table] for table in kept}
    assert all(after[table] >= before[table] for table in OF_MODELS)
    for model in (one for one in apps.get_models() if one._meta.managed):
        assert (
            len(model._base_manager.using(upgrade.database).all()) == after[model._meta.db_table]
        ), model
    assert sum(before[table] > 0 for table in before) > 40


def test_experiments_without_jobs_get_jobs_that_say_how_they_ended(upgrade):
    if not upgrade.had_no_jobs:
        pytest.skip("they have jobs")
    made = (
        Experiment.objects.using(upgrade.database).filter(pk__in=EXPERIMENTS).select_related("job")
    )
    jobs = {experiment.pk: experiment.job for experiment in made}
    assert {number: job.state for number, job in jobs.items()} == {
        number: state for number, (_, (state, _)) in EXPERIMENTS.items()
    }
    for number, (_, (state, words)) in EXPERIMENTS.items():
        assert words in jobs[number].trouble
        assert (jobs[number].ended_at is None) == (state == "working")
        assert jobs[number].asked_at.month == 11
    assert jobs[1002].bookmark == BEGUN  # its job removes what it left


def test_migrations_of_a_dated_version_stay_as_they_are():
    files = [
        path
        for app in apps.get_app_configs()
        for kind in ("0*.py", "sql/*/*.sql")
        for path in Path(app.path, "migrations").glob(kind)
        if ".venv" not in path.parts
    ]
    digests = {
        f"{path.parts[-3]}/{path.name}": sha256(path.read_bytes()).hexdigest()[:12]
        for path in files
    }

    assert {name: digests.get(name) for name in AS_RELEASED} == AS_RELEASED

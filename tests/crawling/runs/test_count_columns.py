"""A count is named once: tables, sums and JSON have the fields of `FetchCounts`, and every writer
names what it adds.
"""

from __future__ import annotations

from dataclasses import asdict, fields

import pytest
from django.db import connection

from crawling.dashboard.base.api_schemas import FetchCountsOut, UrlCountsOut
from crawling.dashboard.run.findings import minutes
from crawling.frontier.run_counts import COUNTED, FetchCounts, add_counts, sum_up
from crawling.models import RunCount, RunTotal
from crawling.runs.counts import RunCounts, counts_of
from tests.crawling.frontiers import Frontier

pytestmark = pytest.mark.django_db

#: each another number, so that none can stand in another's column
EACH = FetchCounts(**{name: number for number, name in enumerate(COUNTED, 1)})


def columns(model, *beside: str) -> set[str]:
    return {field.name for field in model._meta.concrete_fields} - {"run", *beside}


def test_tables_and_json_have_the_counts_that_there_are():
    assert columns(RunTotal) == set(COUNTED)
    assert columns(RunCount, "id", "process_number", "minute") == set(COUNTED)
    assert set(FetchCountsOut.model_fields) == set(COUNTED)
    assert set(UrlCountsOut.model_fields) == {field.name for field in fields(RunCounts)}


@pytest.fixture
def run():
    run = Frontier().run
    RunTotal.objects.filter(run=run).delete()
    RunCount.objects.filter(run=run).delete()
    with connection.cursor() as cursor:
        add_counts(cursor, run.pk, EACH)
        assert add_counts(cursor, run.pk, EACH) == 2 * EACH.failed
    return run


def test_every_count_is_stored_in_its_own_column_and_read_from_it(run):
    twice = {name: 2 * number for name, number in asdict(EACH).items()}

    assert RunTotal.objects.filter(run=run).values(*COUNTED).get() == twice
    assert RunCount.objects.filter(run=run).values(*COUNTED).get() == twice
    counts = asdict(counts_of([run.pk])[run.pk])
    assert {name: counts[name] for name in COUNTED} == twice
    [minute] = minutes(run, limit=5)[0]
    assert {name: getattr(minute, name) for name in COUNTED} == twice


def test_totals_are_the_sums_of_the_minutes(run):
    before = RunTotal.objects.filter(run=run).values(*COUNTED).get()
    RunTotal.objects.filter(run=run).delete()
    with connection.cursor() as cursor:
        sum_up(cursor, run.pk)

    assert RunTotal.objects.filter(run=run).values(*COUNTED).get() == before

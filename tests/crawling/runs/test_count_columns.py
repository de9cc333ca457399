"""A count is named once: tables, sums and JSON have the fields of `FetchCounts`, and every writer
names what it adds.
"""

from __future__ import annotations

import re
from dataclasses import asdict, fields, replace
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from crawling.dashboard.base.api_schemas import FetchCountsOut, UrlCountsOut
from crawling.dashboard.run.charts import chart_of_all, run_minutes
from crawling.frontier import RunCounts, counts_of
from crawling.frontier.change.manual_order import requeue_failed
from crawling.frontier.run_counts import (
    CHARTED,
    COUNTED,
    FetchCounts,
    add_counts,
    sum_counts_of_run,
    total_minutes,
)
from crawling.models import MinuteTotal, RunCount, RunTotal
from crawlsite.env import BASE_DIR
from tests.crawling.frontier.test_page_contents import answer
from tests.crawling.frontiers import Frontier, outcome

pytestmark = pytest.mark.django_db

#: each another number, so that none can stand in another's column
EACH = FetchCounts(**{name: number for number, name in enumerate(COUNTED, 1)})


#: SQL or Django's methods that write a table of counts
WRITES = re.compile(
    r"(?:INSERT INTO|UPDATE|DELETE FROM|COPY) crawling_(?:runtotal|runcount|minutetotal)\b"
    r"|\b(?:RunTotal|RunCount|MinuteTotal)(?:\.objects[^=;]*?\.(?:bulk_)?(?:update|create)\w*)?\("
)
WRITERS = {"crawling/frontier/run_counts.py"}


def columns(model, *beside: str) -> set[str]:
    return {field.name for field in model._meta.concrete_fields} - {"run", *beside}


def test_tables_and_json_have_the_counts_that_there_are():
    assert columns(RunTotal) == set(COUNTED)
    assert columns(RunCount, "id", "process_number", "minute") == set(COUNTED)
    assert columns(MinuteTotal, "minute") == set(CHARTED)
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
    [minute] = run_minutes(run, limit=5)[0]
    assert {name: getattr(minute, name) for name in COUNTED} == twice


def test_totals_are_the_sums_of_the_minutes(run):
    before = RunTotal.objects.filter(run=run).values(*COUNTED).get()
    RunTotal.objects.filter(run=run).delete()
    with connection.cursor() as cursor:
        sum_counts_of_run(cursor, run.pk)

    assert RunTotal.objects.filter(run=run).values(*COUNTED).get() == before


def test_counts_by_minute_and_their_chart_have_each_count_in_its_place(run):
    over = timezone.now().replace(second=0, microsecond=0) - timedelta(minutes=10)
    RunCount.objects.filter(run=run).update(minute=over)

    total_minutes()

    twice = {name: 2 * getattr(EACH, name) for name in CHARTED}
    assert MinuteTotal.objects.values(*CHARTED).get() == twice
    [point] = [point for point in chart_of_all(1).points if point.fetched]
    assert {name: getattr(point, name) for name in CHARTED} == twice


def test_a_retry_takes_off_all_that_the_failed_answers_counted_for():
    frontier = Frontier()
    frontier.sow("a.test/1", "a.test/2", "a.test/3", "a.test/4")
    first, copy, reused, same = frontier.claim()
    frontier.record(
        outcome(first, "f", answer=answer(b"one")),
        outcome(copy, "f", answer=answer(b"one")),
        outcome(reused, "f", answer=replace(answer(b"two"), reused_from=7)),
        outcome(same, "f", answer=replace(answer(b"three"), unchanged_since=7)),
    )
    before = counts_of([frontier.run.pk])[frontier.run.pk]
    assert (before.fetched, before.duplicate, before.reused, before.bytes) == (4, 1, 1, 9)

    assert requeue_failed(frontier.run.pk) == 4

    assert counts_of([frontier.run.pk])[frontier.run.pk] == RunCounts(discovered=4, queued=4)
    frontier.check()


def test_counts_are_written_in_one_place_and_summed_up_in_another():
    sources = [
        path
        for package in ("allocation", "crawling", "crawlsite", "dnscache", "experiments", "serving")
        for path in (BASE_DIR / package).rglob("*.py")
        if not {"migrations", "models"} & set(path.parts)
    ]
    writers = {
        str(path.relative_to(BASE_DIR)) for path in sources if WRITES.search(path.read_text())
    }
    assert writers == WRITERS

"""The benchmark of duties writes rows by SQL, which must fit the tables of today."""

from __future__ import annotations

from allocation.models import Process, Request
from benchmarks.crawling import duties
from crawling.models import Run


def test_duties_are_timed_beside_runs_that_wait_and_runs_that_ended(
    transactional_db, order, queue, capsys
):
    duties.fill(waiting=3, ended=5)
    duties.measure()

    assert Run.objects.filter(state="finished", crawl__name__startswith="ended").count() == 5
    assert Request.objects.filter(state="waiting").count() >= 3
    assert Process.objects.filter(holding=True).exists()
    assert "deliver_other_messages" in capsys.readouterr().out

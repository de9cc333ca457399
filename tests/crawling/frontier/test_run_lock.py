"""All writes to a run's part of the frontier take turns at the run's row; two runs never wait for
each other.
"""

import threading

import pytest
from django.db import OperationalError, connection

from crawling.frontier.run_lock import locked_run
from crawling.runs.shift_lifecycle import begin_shift, lose_shift
from tests.crawling.frontiers import Frontier, other_connection, outcome, rows


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("write", ["sow", "claim", "record", "give_back", "begin", "lose"])
def test_every_write_to_a_runs_frontier_waits_for_the_runs_lock(write, monkeypatch):
    """The other connection holds the run's row alone, and no row that these writes name."""
    frontier = Frontier()
    frontier.sow("a.test/1", "a.test/3")
    url = frontier.claim(1)[0]
    writes = {
        "sow": lambda: frontier.sow("a.test/2"),
        "claim": frontier.claim,
        "record": lambda: frontier.record(outcome(url)),
        "give_back": frontier.give_back,
        "begin": lambda: begin_shift(frontier.processes[0], epoch=9, worker="w"),
        "lose": lambda: lose_shift(
            frontier.processes[0], frontier.shift.epoch, "killed", is_dead=True
        ),
    }
    before = rows()

    with other_connection(
        ["SELECT 1 FROM crawling_run WHERE id = %s FOR NO KEY UPDATE", [frontier.run.pk]]
    ):
        assert waits(writes[write])
    assert rows() == before


def waits(write):
    """Whether the write is found waiting for a lock; it is broken off then."""
    troubles = []

    def work():
        try:
            write()
        except OperationalError as trouble:
            troubles.append(trouble)
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    with connection.cursor() as cursor:
        while thread.is_alive():
            cursor.execute(
                "SELECT pg_cancel_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            if cursor.rowcount:
                thread.join(60)
    return len(troubles) == 1


@pytest.mark.django_db(transaction=True)
def test_another_runs_frontier_does_not_wait():
    frontier, other = Frontier(), Frontier()

    with other_connection(
        ["SELECT 1 FROM crawling_run WHERE id = %s FOR NO KEY UPDATE", [other.run.pk]]
    ):
        assert frontier.sow("a.test/1") == 1
        assert len(frontier.claim()) == 1


@pytest.mark.django_db(transaction=True)
def test_two_that_sow_the_same_urls_at_once_add_each_once():
    frontier = Frontier()
    together, added = threading.Barrier(2), []

    def work():
        with connection.cursor():
            together.wait(10)
        added.append(frontier.sow(*(f"a.test/{number}" for number in range(50))))
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sorted(added) == [0, 50]
    frontier.check()


def test_the_locked_run_is_read_as_it_stands_under_the_lock(db):
    frontier = Frontier()
    frontier.run.__class__.objects.filter(pk=frontier.run.pk).update(state="stopping")

    with locked_run(frontier.run.pk) as run:
        assert run.state == "stopping"

import threading

import pytest

from dnscache.preresolver.lanes import Lane, LookupJob


class Work:
    """Jobs that end when the test says so."""

    def __init__(self):
        self.begun, self.gates, self.changed = [], {}, threading.Condition()

    def __call__(self, job):
        with self.changed:
            self.begun.append(job.name)
            self.changed.notify_all()
            self.changed.wait_for(lambda: job.name in self.gates, timeout=60)

    def finish(self, *names):
        with self.changed:
            self.gates.update(dict.fromkeys(names))
            self.changed.notify_all()

    def wait_for(self, *names):
        with self.changed:
            assert self.changed.wait_for(lambda: sorted(self.begun) == list(names), timeout=60), (
                self.begun
            )


@pytest.fixture
def work():
    return Work()


@pytest.fixture
def lane(work):
    made = Lane("test", work)
    yield made
    work.finish(*"abcdefgh")
    made.close(5)


def test_a_lane_without_threads_only_collects_then_begins_with_the_earliest_due(lane, work):
    for due, name in ((3, "c"), (1, "a"), (2, "b")):
        lane.add_job(LookupJob(due, name, due))
    assert lane.depth == 3

    lane.resize(1)
    work.wait_for("a")
    work.finish("a")
    work.wait_for("a", "b")


def test_a_lane_that_shrinks_lets_its_threads_finish_and_then_uses_fewer(lane, work):
    lane.resize(2)
    for due, name in enumerate("abcd"):
        lane.add_job(LookupJob(due, name, due))
    work.wait_for("a", "b")

    lane.resize(1)
    work.finish("a")
    with work.changed:  # one of two threads is free now, but one is all there may be
        assert not work.changed.wait_for(lambda: len(work.begun) > 2, timeout=0.2)
    work.finish("b")
    work.wait_for("a", "b", "c")
    assert lane.depth == 2


def test_closing_returns_what_was_not_begun(lane, work):
    lane.resize(1)
    for due, name in enumerate("abc"):
        lane.add_job(LookupJob(due, name, due))
    work.wait_for("a")

    left = lane.close(0.01)

    assert [job.name for job in sorted(left)] == ["b", "c"]
    assert work.begun == ["a"]

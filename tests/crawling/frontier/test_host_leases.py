"""A host is one shift's alone, whichever crawl it serves, and rests for its delay between two of
them.
"""

import threading

import pytest
from django.db import connection, connections

from crawling.frontier.due_queues import contested_hosts, seconds_until_due, seeds_of
from crawling.frontier.leases import claim_urls, renew_hosts
from crawling.frontier.released_hosts import ReturnedHost, release_hosts
from crawling.models import Host
from crawling.runs.shift_lifecycle import lose_shift
from tests.crawling.frontiers import Frontier, other_connection


@pytest.fixture
def frontier(db):
    return Frontier()


def names(hosts):
    return [host.name for host in hosts]


def pass_seconds(seconds):
    """Let the hosts' past be so many seconds longer ago."""
    past = (
        "due_at = due_at - make_interval(secs => %(s)s), lease_until = lease_until - "
        "make_interval(secs => %(s)s)"
    )
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE crawling_host SET {past}", {"s": seconds})


def test_a_leased_host_is_leased_to_nobody_else(frontier):
    other = Frontier()
    for one in (frontier, other):
        one.sow("a.test/1", "b.test/1")

    assert names(frontier.lease(limit=1)) == ["a.test"]

    assert names(other.lease()) == ["b.test"]
    assert (frontier.lease(), other.lease()) == ([], [])


@pytest.mark.parametrize("lease", [0.5, 1.9, 60])
def test_however_short_the_lease_no_host_is_leased_ahead_of_its_end(frontier, lease):
    """Until then the shift that has it may renew it and go on fetching."""
    other = Frontier()
    for one in (frontier, other):
        one.sow("a.test/1")
    frontier.lease(lease=lease)

    assert other.lease(soon=2 * lease) == []
    assert frontier.lease(soon=2 * lease) == []


def test_a_host_that_is_let_go_rests_for_as_long_as_it_was_told_to(frontier):
    other = Frontier()
    for one in (frontier, other):
        one.sow("a.test/1")
    (host,) = frontier.lease(delay=30)
    release_hosts(frontier.shift, [ReturnedHost(host.host_id, 30.0, 30.0)])

    assert other.lease() == []
    (leased,) = other.lease(soon=40)
    assert 20 < leased.wait_seconds <= 30


def test_a_lost_lease_keeps_the_host_quiet_for_the_delay_after_its_end(frontier):
    other = Frontier()
    for one in (frontier, other):
        one.sow("a.test/1")
    frontier.lease(lease=100, delay=50)

    pass_seconds(90)
    assert other.lease() == []
    pass_seconds(50)
    assert other.lease() == []
    assert 0 < seconds_until_due(other.processes[0]) <= 10
    pass_seconds(10)
    assert names(other.lease()) == ["a.test"]


def test_a_lapsed_lease_may_be_taken_ahead_with_the_wait_that_is_left(frontier):
    other = Frontier()
    for one in (frontier, other):
        one.sow("a.test/1")
    frontier.lease(lease=100, delay=50)
    pass_seconds(110)

    (leased,) = other.lease(soon=50)

    assert 30 < leased.wait_seconds <= 40


def test_a_shift_does_not_lease_its_own_lapsed_host_a_second_time(frontier):
    """The shift has a visit to the host already, and two fetch threads on one host would be two
    clocks.
    """
    frontier.sow("a.test/1")
    frontier.lease(lease=10)
    pass_seconds(20)

    assert frontier.lease() == []


def test_a_delay_once_kept_is_kept_by_the_next_lease_too(frontier):
    """The site asked for it in robots.txt, which the next shift may not have read yet when it is
    lost.
    """
    frontier.sow("a.test/1")
    (host,) = frontier.lease(delay=1)
    release_hosts(frontier.shift, [ReturnedHost(host.host_id, 0.0, 7.0)])
    frontier.lease(delay=1)

    assert Host.objects.get().delay_seconds == 7


@pytest.mark.parametrize(("is_dead", "rest"), [(True, 50), (False, 150)])
def test_a_lost_shifts_hosts_rest_for_a_delay_from_its_end_or_from_that_of_its_lease(
    frontier, is_dead, rest
):
    other = Frontier()
    for one in (frontier, other):
        one.sow("a.test/1")
    frontier.lease(lease=100, delay=50)

    lose_shift(frontier.processes[0], frontier.shift.epoch, "killed", is_dead=is_dead)

    assert rest - 10 < seconds_until_due(other.processes[0]) <= rest


def test_hosts_come_in_turns_whoever_was_served_last_comes_last(frontier):
    frontier.sow(*(f"{host}.test/{number}" for number in range(3) for host in "abc"))

    turns = []
    for _ in range(6):
        (host,) = frontier.lease(limit=1)
        claim_urls(frontier.shift, {host.queue_id: 1})
        release_hosts(frontier.shift, [ReturnedHost(host.host_id, 0.0, 0.0)])
        turns.append(host.name)

    assert turns == ["a.test", "b.test", "c.test"] * 2


def test_hosts_to_be_avoided_and_those_of_other_processes_are_left_alone(db):
    frontier = Frontier(processes=2)
    frontier.sow(*(f"{number}.test/" for number in range(20)))
    second = frontier.begin_shift(1)

    first = frontier.lease(limit=3)
    release_hosts(frontier.shift, [ReturnedHost(host.host_id, 0.0, 0.0) for host in first])
    others = frontier.lease(avoid=[host.host_id for host in first])
    theirs = frontier.lease(second)

    assert len(first) + len(others) + len(theirs) == 20
    assert not {host.host_id for host in first} & {host.host_id for host in others}


def test_only_the_shift_that_has_a_host_can_renew_it_or_let_it_go(frontier):
    frontier.sow("a.test/1")
    (host,) = frontier.lease(lease=10)
    before = Host.objects.values().get()
    stranger = Frontier().shift

    renew_hosts(stranger.pk, 1000)
    release_hosts(stranger, [ReturnedHost(host.host_id, 0.0, 0.0)])
    assert Host.objects.values().get() == before

    renew_hosts(frontier.shift.pk, 1000)
    assert (Host.objects.get().lease_until - before["lease_until"]).total_seconds() > 900


def test_hosts_that_another_run_wants_are_contested(frontier):
    other, ended = Frontier(), Frontier()
    for one in (frontier, other, ended):
        one.sow("a.test/1")
    frontier.sow("b.test/1")
    ended.sow("b.test/1")
    ended.run.state = "stopped"
    ended.run.save()
    ids = dict(Host.objects.values_list("name", "pk"))

    assert contested_hosts(ids.values(), frontier.run.pk) == {ids["a.test"]}


def test_whatever_has_depth_0_is_a_seed(frontier):
    frontier.sow("a.test/1", "b.test/1")
    frontier.sow("c.test/1", depth=1)

    assert {seed.hostname for seed in seeds_of(frontier.run.pk).seeds} == {"a.test", "b.test"}


@pytest.mark.django_db(transaction=True)
def test_a_host_that_is_locked_is_passed_over_and_not_waited_for():
    frontier = Frontier()
    frontier.sow("a.test/1", "b.test/1")
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '2s'")

    with other_connection(["SELECT 1 FROM crawling_host WHERE name = 'a.test' FOR NO KEY UPDATE"]):
        assert names(frontier.lease()) == ["b.test"]
    assert names(frontier.lease()) == ["a.test"]


@pytest.mark.django_db(transaction=True)
def test_renewing_does_not_wait_for_hosts_that_are_being_let_go():
    """Two threads of a shift do this at the same time; waiting for each other would be a
    deadlock."""
    frontier = Frontier()
    frontier.sow("a.test/1", "b.test/1")
    frontier.lease(lease=10)
    before = dict(Host.objects.values_list("name", "lease_until"))
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '2s'")

    with other_connection(["SELECT 1 FROM crawling_host WHERE name = 'a.test' FOR NO KEY UPDATE"]):
        renew_hosts(frontier.shift.pk, 1000)

    after = dict(Host.objects.values_list("name", "lease_until"))
    assert [after[name] > before[name] for name in ("a.test", "b.test")] == [False, True]


@pytest.mark.django_db(transaction=True)
def test_of_many_runs_that_lease_at_once_each_host_goes_to_one():
    frontiers = [Frontier() for _ in range(4)]
    for frontier in frontiers:
        frontier.sow(*(f"{number}.test/" for number in range(30)))
    together, leased = threading.Barrier(4), []

    def work(frontier):
        with connection.cursor():
            together.wait(10)
        leased.extend(names(frontier.lease()))
        connections.close_all()

    threads = [threading.Thread(target=work, args=[frontier]) for frontier in frontiers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for frontier in frontiers:
        leased.extend(names(frontier.lease()))

    assert sorted(leased) == sorted(f"{number}.test" for number in range(30))

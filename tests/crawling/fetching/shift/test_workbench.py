"""Hosts in the order in which they fall due, each in one hand at a time."""

import threading
import time
from collections import deque

import pytest

from crawling.fetching.pipeline.visit import Visit
from crawling.fetching.shift.workbench import MOST_UNREAD, Workbench
from crawling.frontier import ClaimedUrl, LeasedHost


def visit(name="a.test", *, due_in=0.0, urls=1, host_id=1):
    waiting = deque(
        ClaimedUrl(1, number, f"http://{name}/{number}", 0, 1, 0.0) for number in range(urls)
    )
    visit = Visit.of(LeasedHost(1, host_id, name, due_in))
    visit.urls = waiting
    return visit


@pytest.fixture
def bench():
    bench = Workbench()
    yield bench
    bench.close()


def take(bench):
    return bench.take(lambda: True)


def put_back(bench, one):
    """As a fetch thread does that is wanted no more."""
    assert bench.take(lambda: False, back=one) is None


def in_thread(function):
    """Run it beside the test; returns (the thread, the list that the result comes into)."""
    results = []
    thread = threading.Thread(target=lambda: results.append(function()), daemon=True)
    thread.start()
    return thread, results


def test_the_host_that_fell_due_first_is_taken_first(bench):
    for name, due_in in [("c", -1), ("a", -3), ("b", -2)]:
        bench.put(visit(name, due_in=due_in))

    assert [take(bench).host.name for _ in range(3)] == ["a", "b", "c"]


def test_of_equals_the_one_put_first_is_taken_first(bench):
    visits = [visit(str(number)) for number in range(20)]
    for one in visits:
        one.clock.host_free_at = 1.0
        bench.put(one)

    assert [take(bench) for _ in visits] == visits


def test_a_host_that_is_not_due_is_waited_for(bench):
    coming = visit(due_in=0.1)
    bench.put(coming)

    assert take(bench) is coming
    assert time.monotonic() >= coming.clock.free_at


def test_a_host_that_is_put_while_a_fetch_thread_waits_for_a_later_one_is_taken_at_once(bench):
    bench.put(visit("later", due_in=60))
    thread, taken = in_thread(lambda: take(bench))

    bench.put(visit("now"))
    thread.join(60)

    assert [one.host.name for one in taken] == ["now"]


def test_a_host_is_in_one_hand_at_a_time(bench):
    """Eight fetch threads share three hosts of fifty URLs; a thread that holds a host must be alone
    with it.
    """
    visits = [visit(name, urls=50) for name in "abc"]
    held, clashes = set(), []
    for one in visits:
        bench.put(one)

    def work():
        one = None
        while one := bench.take(lambda: True, back=one):
            if one.host.name in held:
                clashes.append(one.host.name)
            held.add(one.host.name)
            one.urls.popleft()
            held.discard(one.host.name)

    threads = [in_thread(work)[0] for _ in range(8)]
    drained = []
    until = time.monotonic() + 10
    while len(drained) < 3 and time.monotonic() < until:
        drained += bench.drained()
    bench.close()
    for thread in threads:
        thread.join(60)

    assert clashes == []
    assert sorted(one.host.name for one in drained) == ["a", "b", "c"]


def test_a_host_without_urls_counts_as_drained_and_is_told_once(bench):
    empty = visit(urls=0)
    bench.put(empty)

    assert bench.drained() == [empty]
    assert bench.drained() == []


def test_a_host_whose_document_is_read_may_be_asked_by_another_fetch_thread(bench):
    one = visit(urls=2)
    bench.put(one)
    take(bench).urls.popleft()
    bench.give_back(one)

    assert take(bench) is one


def test_who_gives_back_a_host_that_is_due_has_it_again_and_wakes_no_other(bench):
    one, looks = visit(urls=50), []
    bench.put(one)
    take(bench)
    in_thread(lambda: bench.take(lambda: looks.append(1) or True))
    waiting(bench, 1)
    looks.clear()

    taken = [bench.take(lambda: True, back=one) for _ in range(50)]

    assert (taken, looks) == ([one] * 50, [])


def test_who_gives_back_a_host_with_a_document_to_read_has_what_is_due_or_goes_to_read(bench):
    one = visit(urls=2)
    bench.put(one)
    take(bench)

    assert bench.take(lambda: True, back=one, is_unread=True) is one
    one.clock.host_free_at = time.monotonic() + 60
    assert bench.take(lambda: True, back=one, is_unread=True) is None
    assert one.unread == 2
    assert not bench.is_idle()
    bench.has_read(one)
    bench.has_read(one)
    assert bench.is_idle()


def taken_while_another_waits(bench):
    """A visit in hand, and the thread that waits for one due in a minute, with what it takes."""
    one = visit()
    bench.put(one)
    take(bench)
    bench.put(visit("later", due_in=60))
    thread, by_other = in_thread(lambda: take(bench))
    waiting(bench, 1)
    return one, thread, by_other


def test_a_host_that_is_given_back_is_not_left_to_who_waits_for_a_later_one(bench):
    one, _, by_other = taken_while_another_waits(bench)

    one.clock.host_free_at = time.monotonic() + 0.05
    taken = bench.take(lambda: True, back=one)

    assert (taken, by_other) == (one, [])


def test_a_host_that_who_is_wanted_no_more_gives_back_is_another_s_at_once(bench):
    one, thread, by_other = taken_while_another_waits(bench)

    put_back(bench, one)
    thread.join(60)

    assert by_other == [one]


def test_a_host_is_not_asked_while_too_many_of_its_documents_are_unread(bench):
    one = visit(urls=MOST_UNREAD + 1)
    bench.put(one)
    for _ in range(MOST_UNREAD):
        take(bench).urls.popleft()
        bench.give_back(one)
    thread, taken = in_thread(lambda: take(bench))

    due_while_unread = bench.overdue()
    bench.has_read(one)
    thread.join(60)

    assert due_while_unread == 0
    assert taken == [one]


def test_a_host_is_drained_when_its_last_document_is_read(bench):
    one = visit()
    bench.put(one)
    take(bench).urls.popleft()
    bench.give_back(one)
    while_unread = (bench.drained(), bench.is_idle())
    bench.has_read(one)

    assert while_unread == ([], False)
    assert (bench.drained(), bench.is_idle()) == ([one], True)


def test_idle_is_when_nobody_works_and_nothing_is_due(bench):
    one, looks = visit(), [bench.is_idle()]
    bench.put(one)
    looks.append(bench.is_idle())
    take(bench)
    looks.append(bench.is_idle())
    one.clock.host_free_at = time.monotonic() + 60
    put_back(bench, one)
    looks.append(bench.is_idle())

    assert looks == [True, False, False, True]


def test_who_waits_until_fetch_threads_have_nothing_to_do_is_told_when_the_last_document_is_read(
    bench,
):
    one, two = visit("one"), visit("two")
    for each in (one, two):
        bench.put(each)
        take(bench).urls.popleft()
    woken_by = []
    thread, _ = in_thread(
        lambda: (bench.await_idleness(60, is_enough=lambda: True), woken_by.append("idleness"))
    )

    put_back(bench, one)
    bench.give_back(two)
    while_unread = list(woken_by)
    bench.has_read(two)
    thread.join(60)

    assert (while_unread, woken_by) == ([], ["idleness"])


def test_nobody_waits_for_fetch_threads_that_have_nothing_to_do_and_left_enough(bench):
    thread, _ = in_thread(lambda: bench.await_idleness(60, is_enough=lambda: True))
    thread.join(60)

    assert not thread.is_alive()


def test_overdue_hosts_are_those_that_wait_for_a_fetch_thread(bench):
    for due_in in (-1, -2, 60):
        bench.put(visit(due_in=due_in))

    assert bench.overdue() == 2


def test_a_fetch_threads_that_is_not_wanted_any_more_leaves_when_woken(bench):
    wanted = [True]
    thread, taken = in_thread(lambda: bench.take(lambda: wanted[0]))

    wanted[0] = False
    bench.wake()
    thread.join(60)

    assert taken == [None]


def test_closing_wakes_every_fetch_thread_and_nothing_is_handed_out_after_it(bench):
    threads = [in_thread(lambda: take(bench)) for _ in range(5)]

    bench.close()
    bench.put(visit())
    for thread, _ in threads:
        thread.join(60)

    assert [taken for _, taken in threads] == [[None]] * 5
    assert take(bench) is None


def waiting(bench, count):
    """Wait until so many fetch threads stand at the bench."""
    eventually(lambda: len(bench._changed._waiters) >= count)


def test_each_of_two_hosts_that_come_at_once_finds_a_fetch_thread(bench):
    threads = [in_thread(lambda: take(bench)) for _ in range(3)]
    waiting(bench, 3)

    bench.put(visit("a", due_in=0.05))
    bench.put(visit("b", due_in=0.06))
    bench.put(visit("c"))
    for thread, _ in threads:
        thread.join(60)

    assert sorted(one.host.name for _, taken in threads for one in taken) == ["a", "b", "c"]


def test_a_fetch_threads_that_is_wanted_no_more_leaves_the_host_to_another(bench):
    is_wanted = True
    leaving, left = in_thread(lambda: bench.take(lambda: is_wanted))
    waiting(bench, 1)
    staying, taken = in_thread(lambda: take(bench))
    waiting(bench, 2)

    is_wanted = False
    bench.put(visit("a", due_in=0.05))  # wakes the one that has waited longest
    leaving.join(60)
    staying.join(60)

    assert left == [None]
    assert [one.host.name for one in taken] == ["a"]


def test_fetch_threads_that_have_nothing_to_do_are_left_alone(bench):
    looks = []
    idle = [in_thread(lambda: bench.take(lambda: looks.append(1) or True)) for _ in range(30)]
    waiting(bench, 30)
    busy = visit("a", urls=1)
    looks.clear()

    for _ in range(50):
        bench.put(busy)
        eventually_taken(bench, idle, busy)
        idle.append(in_thread(lambda: bench.take(lambda: looks.append(1) or True)))
        waiting(bench, 30)

    assert len(looks) <= 50 * 4


def eventually(is_so):
    until = time.monotonic() + 5
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.001)


def eventually_taken(bench, idle, one):
    eventually(lambda: any(taken == [one] for _, taken in idle))
    idle[:] = [(thread, taken) for thread, taken in idle if not taken]


def aside(name, seconds):
    one = visit(name, due_in=-100)
    one.penalty_until = time.monotonic() + seconds
    return one


def test_a_host_that_stands_aside_lets_those_that_are_due_go_first(bench):
    for one in (aside("aside", 60), visit("first", due_in=-2), visit("second", due_in=-1)):
        bench.put(one)

    assert [take(bench).host.name for _ in range(3)] == ["first", "second", "aside"]


def test_no_fetch_threads_is_idle_while_a_host_stands_aside(bench):
    bench.put(visit("later", due_in=60))
    bench.put(aside("aside", 60))

    assert (bench.overdue(), bench.is_idle()) == (1, False)
    assert take(bench).host.name == "aside"


def test_a_host_that_stood_aside_for_long_enough_has_its_turn_again(bench):
    one = aside("aside", 60)
    bench.put(one)
    bench.put(visit("other", due_in=-1))

    one.penalty_until = time.monotonic()
    assert [take(bench).host.name for _ in range(2)] == ["aside", "other"]


def test_a_host_that_stands_aside_still_rests(bench):
    one = visit("aside", due_in=0.1)
    one.penalty_until = time.monotonic() + 60
    bench.put(one)

    assert take(bench) is one
    assert time.monotonic() >= one.clock.free_at


def test_hosts_are_withdrawn_but_those_that_a_fetch_thread_has_or_reads_of(bench):
    visits = [visit(f"{number}.test", host_id=number) for number in range(4)]
    for one in visits:
        bench.put(one)
    in_hand, read_of = take(bench), take(bench)
    bench.give_back(read_of)

    gone = bench.withdraw({one.host.host_id for one in visits[:3]})

    assert gone == [visits[2]]
    assert in_hand is visits[0]
    assert read_of is visits[1]
    assert {take(bench), take(bench)} == {visits[1], visits[3]}

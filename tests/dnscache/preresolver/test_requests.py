from hypothesis import given
from hypothesis import strategies as st

from dnscache.preresolver.requests import (
    LONGEST_WAIT_SECONDS,
    MOST_OVERTAKEN,
    WINDOW,
    RequestQueue,
    TurnKind,
)


def queue_of(*names, at=0.0):
    queue = RequestQueue()
    for name in names:
        queue.submit(name.upper(), name, at)
    return queue


def take(queue, cached, now=0.0):
    return queue.take_next(lambda name: name in cached, now)


def test_requests_are_served_in_order_while_their_names_are_at_hand():
    queue = queue_of("a", "b")
    assert [take(queue, "ab"), take(queue, "ab"), take(queue, "ab")] == [
        ("A", TurnKind.HIT),
        ("B", TurnKind.HIT),
        None,
    ]


def test_a_request_that_misses_lets_the_next_that_hits_go_first():
    queue = queue_of("a", "b", "c", "d")

    assert take(queue, "c") == ("C", TurnKind.SWAPPED)
    assert take(queue, "a") == ("A", TurnKind.HIT)
    assert len(queue) == 2


def test_if_no_request_hits_the_first_is_resolved_directly():
    queue = queue_of("a", "b")
    assert [take(queue, ""), take(queue, "")] == [("A", TurnKind.DIRECT), ("B", TurnKind.DIRECT)]


def test_nobody_is_overtaken_for_ever():
    queue = queue_of("slow")
    served = []
    for _ in range(MOST_OVERTAKEN + 1):
        queue.submit("FAST", "fast", 0)
        served.append(take(queue, {"fast"}))

    assert served == [("FAST", TurnKind.SWAPPED)] * MOST_OVERTAKEN + [("SLOW", TurnKind.DIRECT)]
    assert queue.most_overtaken == MOST_OVERTAKEN


def test_nobody_is_overtaken_after_waiting_long():
    queue = queue_of("slow", "fast")
    assert take(queue, {"fast"}, now=LONGEST_WAIT_SECONDS) == ("SLOW", TurnKind.DIRECT)


def test_only_so_many_later_requests_are_looked_at():
    near = queue_of("a", *["x"] * (WINDOW - 1), "b")
    far = queue_of("a", *["x"] * WINDOW, "b")
    assert (take(near, "b"), take(far, "b")) == (("B", TurnKind.SWAPPED), ("A", TurnKind.DIRECT))


@given(
    st.lists(st.sampled_from("abcdefgh"), max_size=80),
    st.lists(st.sets(st.sampled_from("abcdefgh")), max_size=80),
)
def test_every_request_is_served_once_within_its_bound(names, caches):
    queue = RequestQueue()
    for number, name in enumerate(names):
        queue.submit(number, name, 0)
    served = []
    for turn in range(len(names)):
        cached = caches[turn] if turn < len(caches) else set()
        number, how = take(queue, cached)
        served.append(number)
        assert (names[number] in cached) == (how is not TurnKind.DIRECT)
    assert sorted(served) == list(range(len(names)))
    assert queue.most_overtaken <= MOST_OVERTAKEN
    assert sum(queue.turns.values()) == len(names)

"""A memory of URLs that never says seen of what it was not told (SEEDS W11)."""

from hypothesis import given
from hypothesis import strategies as st

from crawling.frontier.seen import Seen
from crawling.rules.addresses import read_address

ADDRESSES = [read_address(f"http://a.test/{number}") for number in range(8)]
batches = st.lists(st.lists(st.sampled_from(ADDRESSES), max_size=6), max_size=20)


@given(batches, st.integers(1, 10))
def test_what_was_never_told_is_never_called_seen(batches, capacity):
    seen, told = Seen(capacity), set()

    for batch in batches:
        unseen = seen.unseen(batch)
        assert set(batch) - told <= set(unseen) <= set(batch)
        told |= set(batch)


@given(batches)
def test_with_room_for_all_each_url_is_unseen_once_and_in_order(batches):
    seen = Seen()

    unseen = [address for batch in batches for address in seen.unseen(batch)]

    assert unseen == list(dict.fromkeys(address for batch in batches for address in batch))


def test_the_one_longest_unheard_of_is_forgotten_first():
    seen = Seen(capacity=2)
    a, b, c = ADDRESSES[:3]
    seen.unseen([a, b])
    seen.unseen([a])
    seen.unseen([c])

    assert seen.unseen([a]) == []
    assert seen.unseen([b]) == [b]


def test_it_remembers_no_more_than_it_has_room_for():
    seen = Seen(capacity=3)

    seen.unseen(ADDRESSES)

    assert seen.unseen(ADDRESSES[-3:]) == []
    assert len(seen._urls) == 3

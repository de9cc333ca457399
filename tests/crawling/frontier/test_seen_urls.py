"""A memory of URLs that never says seen of what it was not told (SEEDS W11)."""

from hypothesis import given
from hypothesis import strategies as st

from crawling.frontier.admit.seen_urls import SeenUrls
from crawling.web.addresses import read_address

ADDRESSES = [read_address(f"http://a.test/{number}") for number in range(8)]
batches = st.lists(st.lists(st.sampled_from(ADDRESSES), max_size=6, unique=True), max_size=20)


def tell(seen, addresses, depth):
    """As fetch threads do: ask, hand on what is news, remember that."""
    news = seen.unseen_addresses(addresses, depth)
    seen.remember(news, depth)
    return news


@given(batches, st.integers(1, 10))
def test_what_was_never_told_is_never_called_seen(batches, capacity):
    seen, told = SeenUrls(capacity), set()

    for batch in batches:
        unseen = tell(seen, batch, 1)
        assert set(batch) - told <= set(unseen) <= set(batch)
        told |= set(batch)


@given(batches)
def test_with_room_for_all_each_url_is_unseen_once_and_in_order(batches):
    seen = SeenUrls()

    unseen = [address for batch in batches for address in tell(seen, batch, 1)]

    assert unseen == list(dict.fromkeys(address for batch in batches for address in batch))


def test_the_one_longest_unheard_of_is_forgotten_first():
    seen = SeenUrls(capacity=2)
    a, b, c = ADDRESSES[:3]
    tell(seen, [a, b], 1)
    tell(seen, [a], 1)
    tell(seen, [c], 1)

    assert tell(seen, [a], 1) == []
    assert tell(seen, [b], 1) == [b]


def test_it_remembers_no_more_than_it_has_room_for():
    seen = SeenUrls(capacity=3)

    tell(seen, ADDRESSES, 1)

    assert tell(seen, ADDRESSES[-3:], 1) == []
    assert len(seen._depths) == 3


def test_a_shorter_way_to_a_url_is_news_and_a_longer_one_is_not():
    seen, url = SeenUrls(), ADDRESSES[:1]

    assert [bool(tell(seen, url, depth)) for depth in (3, 3, 4, 2, 3, 2)] == [
        True,
        False,
        False,
        True,
        False,
        False,
    ]


def test_what_was_refused_is_asked_of_again():
    seen = SeenUrls()

    assert seen.unseen_addresses(ADDRESSES, 1) == seen.unseen_addresses(ADDRESSES, 1) == ADDRESSES


def test_when_other_rules_hold_nothing_is_seen():
    seen = SeenUrls()
    seen.remember(ADDRESSES, 1)

    seen.forget()

    assert seen.unseen_addresses(ADDRESSES, 1) == ADDRESSES

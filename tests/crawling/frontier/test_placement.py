"""Rendezvous hashing of hosts over a run's processes (SEEDS W5, W14)."""

from collections import Counter
from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from crawling.frontier.rules.hosts import EVEN_FROM, SLACK, place_hosts, process_number_of

HOSTS = [f"host{number}.test" for number in range(2000)]
processes = st.sets(st.integers(0, 64), min_size=2, max_size=12).map(sorted)


@given(st.text(max_size=50), processes, st.randoms())
def test_a_host_stays_where_it_is_whatever_the_order_of_the_processes(host, numbers, random):
    shuffled = random.sample(numbers, len(numbers))

    assert process_number_of(host, shuffled) == process_number_of(host, numbers)
    assert process_number_of(host, numbers) in numbers


@given(processes, st.data())
def test_a_process_that_leaves_moves_its_own_hosts_only(numbers, data):
    gone = data.draw(st.sampled_from(numbers))
    left = [number for number in numbers if number != gone]

    for host in HOSTS[:200]:
        before = process_number_of(host, numbers)
        assert process_number_of(host, left) == before or before == gone


@given(processes, st.integers(65, 100))
def test_a_process_that_joins_takes_hosts_and_swaps_none(numbers, new):
    for host in HOSTS[:200]:
        assert process_number_of(host, [*numbers, new]) in (process_number_of(host, numbers), new)


def test_hosts_are_spread_about_evenly():
    shares = Counter(process_number_of(host, range(8)) for host in HOSTS)

    assert sorted(shares) == list(range(8))
    assert all(180 < share < 320 for share in shares.values())


@given(st.lists(st.text(max_size=20), max_size=EVEN_FROM * 2, unique=True), processes)
def test_no_process_has_much_more_than_its_share_of_few_hosts(hosts, numbers):
    loads = Counter()
    place_hosts(hosts, numbers, loads)

    mean = len(hosts) / len(numbers)
    assert max(loads.values(), default=0) <= max(ceil(mean), SLACK * mean)


@given(st.lists(st.text(max_size=20), min_size=2, max_size=12, unique=True), st.data())
def test_as_many_hosts_as_processes_have_one_each(hosts, data):
    numbers = data.draw(st.permutations(range(len(hosts))))

    assert sorted(place_hosts(hosts, numbers, Counter())) == sorted(numbers)


@given(st.integers(0, EVEN_FROM * 4), processes)
def test_hosts_placed_in_two_goes_are_where_they_would_be_after_one(first, numbers):
    loads = Counter()
    placed = place_hosts(HOSTS[:first], numbers, loads) + place_hosts(
        HOSTS[first : EVEN_FROM * 4], numbers, loads
    )

    assert placed == place_hosts(HOSTS[: EVEN_FROM * 4], numbers, Counter())


def test_of_many_hosts_each_goes_where_its_hash_says():
    many = Counter(dict.fromkeys(range(8), EVEN_FROM))

    assert place_hosts(HOSTS, range(8), many) == [
        process_number_of(host, range(8)) for host in HOSTS
    ]

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnscache.protocol.answers import (
    LONGEST_STALE_SECONDS,
    DnsAnswer,
    DnsStatus,
    Reply,
    answer_of_reply,
)
from dnscache.regions.entry import Region
from dnscache.regions.space import CacheSpace, EvictionReason
from tests.dnscache.regions.conftest import NOW, failed, good


def region(space, name):
    return space.find(name).region


@pytest.mark.parametrize(
    ("ms", "expected"), [(299, Region.FORWARD), (300, Region.REVERSE), (301, Region.REVERSE)]
)
def test_a_quick_success_goes_forward_and_a_slow_one_in_reverse(space, ms, expected):
    space.put(good("a.com", ms=ms), NOW)

    assert region(space, "a.com") is expected
    assert ("a.com" in space.forward.table2, "a.com" in space.reverse.table3) == (
        expected is Region.FORWARD,
        expected is Region.REVERSE,
    )


@pytest.mark.parametrize("status", [DnsStatus.NXDOMAIN, DnsStatus.NODATA])
def test_no_address_goes_in_reverse_however_quick(space, status):
    space.put(DnsAnswer("a.com", Reply(status, ttl=30, resolve_ms=1), NOW, NOW + 30), NOW)
    assert region(space, "a.com") is Region.REVERSE


def test_a_failure_goes_in_reverse_and_a_quick_answer_brings_the_name_back(space):
    space.put(failed("a.com"), NOW)
    assert region(space, "a.com") is Region.REVERSE

    space.put(good("a.com", at=NOW + 5), NOW + 5)

    assert region(space, "a.com") is Region.FORWARD
    assert space.reverse.table3 == {}


def test_addresses_kept_through_a_failure_lie_in_reverse_with_the_reason(space):
    space.put(good("a.com", ttl=10), NOW)
    space.put(
        answer_of_reply(
            "a.com", Reply(DnsStatus.SERVFAIL), previous=space.find("a.com").answer, now=NOW + 11
        ),
        NOW + 11,
    )

    assert region(space, "a.com") is Region.REVERSE
    assert space.find("a.com").addresses == ("192.0.2.1",)
    assert space.reverse.find("a.com").entry.fails == 1


def test_a_name_near_the_threshold_does_not_flap(space):
    seen = []
    for ms in (290, 350, 350, 700, 310, 250, 250, 250, 250, 0):
        space.put(good("a.com", ms=ms), NOW)
        seen.append(region(space, "a.com").name[0])

    assert "".join(seen) == "FFFRRRRRRF"


def test_a_fresh_answer_is_found_until_it_expires_and_hits_are_counted(space):
    space.put(good("a.com", ttl=10), NOW)

    assert space.get("a.com", NOW + 9.9).addresses == ("192.0.2.1",)
    assert space.find("a.com").hits == pytest.approx(2, abs=0.02)
    assert space.get("a.com", NOW + 10) is None
    assert space.get("b.com", NOW) is None


def test_a_full_cache_drops_what_saves_least(space):
    space = CacheSpace(3)
    for name, ms in (("dear.com", 5000), ("cheap.com", 1), ("middle.com", 100)):
        space.put(good(name, ms=ms), NOW)

    [dropped] = space.put(good("new.com"), NOW)

    assert (dropped.name, dropped.region, dropped.why) == (
        "cheap.com",
        Region.FORWARD,
        EvictionReason.FULL,
    )
    assert set(space.names()) == {"dear.com", "middle.com", "new.com"}


def test_a_name_needed_soon_is_not_dropped(space):
    space = CacheSpace(2)
    space.put(good("cheap.com", ms=1), NOW)
    space.put(good("dear.com", ms=5000), NOW)

    assert [dropped.name for dropped in space.put(good("new.com"), NOW, needed={"cheap.com"})] == [
        "dear.com"
    ]


def test_an_answer_that_is_renewed_needs_no_room(space):
    space = CacheSpace(1)
    space.put(good("a.com"), NOW)
    assert space.put(good("a.com", at=NOW + 1), NOW + 1) == []


def test_the_purge_drops_what_nobody_may_be_served_any_more(space):
    space.put(good("a.com", ttl=60), NOW)
    space.put(failed("b.com", rest=5), NOW)

    assert space.purge(NOW + 304) == []
    assert [(dropped.name, dropped.why) for dropped in space.purge(NOW + 305)] == [
        ("b.com", EvictionReason.OLD)
    ]
    assert space.purge(NOW + 59 + LONGEST_STALE_SECONDS) == []
    assert [dropped.name for dropped in space.purge(NOW + 60 + LONGEST_STALE_SECONDS)] == ["a.com"]


def test_the_purge_drops_light_idle_rows_of_the_conflict_area_only(space):
    for n in range(20):
        space.put(good(f"slow{n}.com", ms=1000 + n, ttl=60), NOW)
        space.put(good(f"quick{n}.com", ms=1, ttl=60), NOW)

    dropped = space.purge(NOW + 601)

    assert {(one.name, one.why) for one in dropped} == {
        ("slow0.com", EvictionReason.LIGHT),
        ("slow1.com", EvictionReason.LIGHT),
    }


def test_the_purge_cuts_third_level_names_beyond_their_share():
    space = CacheSpace(16)
    for n in range(5):
        space.put(good(f"{n}.www.a.com"), NOW + n)

    assert sorted(dropped.name for dropped in space.purge(NOW + 5)) == [
        "0.www.a.com",
        "1.www.a.com",
    ]


def test_the_sum_of_weights_grows_with_every_hit(space):
    space.put(good("a.com", ms=200), NOW)
    before = space.threads_saved(NOW)
    space.get("a.com", NOW)
    assert space.threads_saved(NOW) > before > 0


steps = st.lists(
    st.tuples(
        st.sampled_from(["quick", "slow", "fail", "remove", "purge", "get"]),
        st.sampled_from(["a.com", "w.a.com", "1.w.a.com", "2.w.a.com", "b.org", "x.b.org"]),
        st.integers(0, 400),
    ),
    max_size=60,
)


@given(steps, st.integers(1, 6))
def test_regions_and_clock_agree_whatever_happens(events, capacity):
    """Against a plain oracle: the last answer put for each name, and nothing served past its
    life."""
    space, oracle, now = CacheSpace(capacity), {}, NOW
    for what, name, seconds in events:
        now += seconds
        if what in ("quick", "slow"):
            oracle[name] = good(name, ms=1 if what == "quick" else 900, ttl=seconds, at=now)
            space.put(oracle[name], now)
        elif what == "fail":
            oracle[name] = failed(name, at=now)
            space.put(oracle[name], now)
        elif what == "remove":
            space.remove(name)
        elif what == "purge":
            space.purge(now)
        elif found := space.get(name, now):
            assert found.answer == oracle[name]
            assert now < oracle[name].fresh_until
        assert len(space) <= capacity
        assert len(space) == len(set(space.names()))
        assert set(space.names_of("a.com")) == {name for name in space.names() if "a.com" in name}
        for name in space.names():
            entry = space.find(name)
            assert (name in space.forward.table2) is (entry.region is Region.FORWARD)
            assert (name in space.reverse.table3) is (entry.region is Region.REVERSE)
            assert (entry.name, entry.answer) == (name, oracle[name])

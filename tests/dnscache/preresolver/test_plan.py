import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnscache.preresolver.plan import (
    NEW_NAMES_A_MINUTE,
    LookupRate,
    MadeUpNameDetector,
    needs_look_up,
    threads_for,
)
from dnscache.protocol.answers import DnsStatus, Reply, answer_of_reply
from dnscache.regions.entry import CachedAnswer
from tests.dnscache.regions.conftest import NOW, failed, good


def asks(answer, *, now, due):
    return needs_look_up(CachedAnswer(answer, now=NOW), now=NOW + now, due=NOW + due)


def test_a_name_that_nobody_knows_is_asked_for():
    assert needs_look_up(None, due=NOW + 10, now=NOW)


def test_an_answer_that_lasts_until_it_is_needed_is_not_renewed():
    assert not asks(good("a.com", ttl=300), now=100, due=110)
    assert not asks(good("a.com", ttl=300), now=295, due=299)


def test_an_answer_that_expires_before_it_is_needed_is_renewed_just_ahead():
    answer = good("a.com", ttl=300)

    assert [asks(answer, now=now, due=303) for now in (295, 299, 301.9, 302, 303)] == [
        False,
        False,
        True,
        True,
        True,
    ]


def test_a_slow_name_is_renewed_earlier():
    assert asks(good("a.com", ttl=300, ms=2000), now=299, due=303)


def test_an_answer_that_could_not_last_anyway_is_fetched_as_late_as_possible():
    answer = good("a.com", ttl=0)

    assert [asks(answer, now=now, due=10) for now in (1, 5, 8.9, 9, 10)] == [
        False,
        False,
        False,
        True,
        True,
    ]
    assert not asks(good("a.com", ttl=0, at=NOW + 9), now=9.5, due=10)


def test_a_host_that_stays_overdue_is_kept_answered_without_a_storm():
    assert [asks(good("a.com", ttl=0), now=now, due=0) for now in (1, 3.9, 4, 60)] == [
        False,
        False,
        True,
        True,
    ]


def test_a_name_that_rests_after_a_failure_is_left_alone():
    assert [asks(failed("a.com", rest=5), now=now, due=1) for now in (0, 4.9, 5)] == [
        False,
        False,
        True,
    ]
    stale = answer_of_reply(
        "a.com", Reply(DnsStatus.SERVFAIL), previous=good("a.com", ttl=10), now=NOW + 11
    )
    assert [asks(stale, now=now, due=12) for now in (12, 15.9, 16)] == [False, False, True]


def test_a_popular_name_is_renewed_when_a_tenth_of_its_life_is_left():
    popular, idle = (
        CachedAnswer(good("a.com", ttl=600), now=NOW),
        CachedAnswer(good("b.com", ttl=600), now=NOW),
    )
    for second in range(0, 540, 10):
        popular.count_hit(NOW + second)

    assert [needs_look_up(popular, due=NOW + now, now=NOW + now) for now in (539, 540)] == [
        False,
        True,
    ]
    assert not needs_look_up(idle, due=NOW + 540, now=NOW + 540)


@pytest.mark.parametrize(
    ("names", "per_second", "seconds", "most", "threads"),
    [
        (1000, 67, 0.13, 64, 22),  # 2.5 times Little's law
        (1000, 500, 1.0, 64, 64),
        (1000, 500, 1.0, 16, 16),
        (1000, 0, 0.1, 64, 4),
        (3, 67, 0.13, 64, 3),
        (0, 0, 0.1, 64, 1),
    ],
)
def test_threads_follow_the_work_within_their_bounds(names, per_second, seconds, most, threads):
    assert threads_for(names=names, per_second=per_second, seconds=seconds, most=most) == threads


@given(st.integers(0, 10**6), st.floats(0, 1e4), st.floats(0, 100), st.integers(1, 500))
def test_there_is_always_a_thread_and_never_one_without_a_name(names, per_second, seconds, most):
    assert (
        1
        <= threads_for(names=names, per_second=per_second, seconds=seconds, most=most)
        <= max(1, min(names, most, 64))
    )


def test_the_pace_is_that_of_the_last_half_minute():
    pace = LookupRate(0)
    assert pace.seconds(0) == 0.1
    pace.note_begin(600, 0)
    pace.note_end(4.0, 0)
    assert pace.per_second(30) == 20
    pace.note_begin(60, 31)
    pace.note_end(0.2, 31)

    assert (pace.per_second(31), pace.seconds(31)) == (2, 0.2)


def test_names_that_somebody_makes_up_are_noticed():
    crowds = MadeUpNameDetector(0)
    assert not any(crowds.exceeds_limit(f"{n}.spam.com", 1) for n in range(NEW_NAMES_A_MINUTE))
    assert crowds.exceeds_limit("more.spam.com", 1)
    assert not crowds.exceeds_limit("www.good.com", 1)
    assert not crowds.exceeds_limit("later.spam.com", 61)

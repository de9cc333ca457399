from dataclasses import replace
from itertools import cycle, islice
from threading import Event, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnscache.protocol.answers import DnsStatus
from dnscache.regions.entry import CachedAnswer
from dnscache.regions.reverse import ReverseRegion, failure_reason
from tests.dnscache.regions.conftest import NOW, failed, good


def region(*answers):
    made = ReverseRegion()
    for answer in answers:
        made.add(CachedAnswer(answer, now=NOW), now=NOW)
    return made


def test_table_3_leads_to_the_row_with_address_and_weight():
    made = region(good("a.com", ms=400), failed("b.com"))

    row = made.area[made.table3["a.com"]]
    assert row is made.find("a.com")
    assert (row.entry.addresses, row.weight) == (("192.0.2.1",), row.entry.weight(NOW))
    assert made.find("c.com") is None


def test_the_area_is_sorted_by_weight_the_heaviest_first():
    made = region(
        good("light.com", ms=400), good("heavy.com", ms=4000), good("middle.com", ms=1000)
    )
    made.remove("middle.com")
    made.add(CachedAnswer(good("new.com", ms=2000), now=NOW), now=NOW)

    made.sort(NOW)

    assert [row.entry.name for row in made.area] == ["heavy.com", "new.com", "light.com"]
    assert made.table3 == {"heavy.com": 0, "new.com": 1, "light.com": 2}


def test_readers_never_get_another_name_s_row_while_the_area_is_sorted():
    """No lock: a table and its area are replaced in one step."""
    made = region(*[good(f"{n}.com", ms=400 + n) for n in range(50)])
    over, wrong = Event(), []

    def read():
        for n in cycle(range(50)):
            row = made.find(f"{n}.com")
            if row is None or row.entry.name != f"{n}.com":
                wrong.append(n)
            if over.is_set():
                break

    readers = [Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    try:
        for n in islice(cycle(range(50)), 2000):
            made.find(f"{n}.com").entry.count_hit(NOW + n)  # so that the order changes
            made.sort(NOW + 60)
    finally:  # no reader goes on beside later tests
        over.set()
        for reader in readers:
            reader.join()

    assert not wrong


def test_the_names_of_a_domain_are_found_by_walking_the_area():
    made = region(
        *[failed(name) for name in ("x.com", "a.b.x.com", "max.com", "x.com.cn", "w.x.com")]
    )
    assert sorted(made.names_of("x.com")) == ["a.b.x.com", "w.x.com", "x.com"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (good("a.com", ms=400), "slow"),
        (failed("a.com"), "no answer in time"),
        (failed("a.com", status=DnsStatus.SERVFAIL), "the name server failed"),
        (replace(good("a.com"), fails=1), "was good; asking again failed"),
    ],
)
def test_every_name_is_hard_for_a_reason(answer, reason):
    assert failure_reason(answer.reply.status, answer.fails) == reason


def test_what_is_light_and_unused_for_long_is_named_for_deletion():
    made = region(*[good(f"{n}.com", ms=1000 + n, ttl=60) for n in range(10)])

    assert made.idle_light_names(NOW + 600, share=0.2, idle_seconds=600) == []
    assert made.idle_light_names(NOW + 601, share=0.2, idle_seconds=600) == ["1.com", "0.com"]
    assert made.idle_light_names(NOW + 601, share=0.0, idle_seconds=600) == []


def test_a_light_row_that_was_used_lately_stays():
    made = region(good("a.com", ms=400, ttl=60))
    made.find("a.com").entry.count_hit(NOW + 500)

    assert made.idle_light_names(NOW + 601, share=1.0, idle_seconds=600) == []


def test_an_answer_that_lives_longer_than_the_idle_time_stays_as_long():
    made = region(good("a.com", ms=400, ttl=3600))

    assert made.idle_light_names(NOW + 3600, share=1.0, idle_seconds=600) == []
    assert made.idle_light_names(NOW + 3601, share=1.0, idle_seconds=600) == ["a.com"]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["add", "remove", "sort"]), st.sampled_from("abcde"), st.integers(1, 9)
        ),
        max_size=40,
    )
)
def test_table_and_area_agree_whatever_comes_and_goes(steps):
    made, model = ReverseRegion(), {}
    for step, name, seconds in steps:
        if step == "add":
            model[name] = CachedAnswer(failed(name, ms=seconds * 1000), now=NOW)
            made.add(model[name], now=NOW)
        elif step == "remove" and name in model:
            made.remove(name)
            del model[name]
        elif step == "sort":
            made.sort(NOW)
            assert [row.weight for row in made.area] == sorted(
                (row.weight for row in made.area), reverse=True
            )
        assert {row.entry.name: row.entry for row in made.rows()} == model
        assert all(made.find(name).entry is model[name] for name in model)

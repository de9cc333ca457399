"""Lists are said as people say them."""

import pytest

from allocation.wording import UnitWords, beginning_of_list


@pytest.mark.parametrize(
    ("names", "between", "said"),
    [
        ("", ", ", ""),
        ("ab", ", ", "a, b"),
        ("abc", ", ", "a, b, and 1 more"),
        ("abc", "; ", "a; b; and 1 more"),
        ("a" * 1_002, ", ", "a, a, and 1,000 more"),
    ],
)
def test_of_a_long_list_the_beginning_is_said_and_how_many_more_there_are(names, between, said):
    assert beginning_of_list(list(names), 2, between=between) == said


@pytest.mark.parametrize(
    ("unit", "units", "said"),
    [
        ("KiB/s", 0, "0 KB/s"),
        ("KiB/s", 64, "64 KB/s"),
        ("KiB/s", 61_401, "60 MB/s"),
        ("KiB/s", 51_136, "49.9 MB/s"),
        ("KiB/s", 102_336, "99.9 MB/s"),
        ("KiB/s", 1_047_000, "1,022 MB/s"),
        ("KiB/s", 1_048_575, "1 GB/s"),
        ("MiB", 28, "28 MB"),
        ("MiB", 3_013, "2.9 GB"),
        ("MiB", 5 * 1024**3, "5,120 TB"),
        ("threads", 61_440, "61,440"),
        ("Mbit", 61_440, "61,440 Mbit"),
    ],
)
def test_units_are_those_that_people_use(unit, units, said):
    assert UnitWords("bandwidth", unit).number(units) == said


@pytest.mark.parametrize(
    ("unit", "units", "whole", "said"),
    [
        ("KiB/s", 61_440, 102_400, "60 of 100 MB/s"),
        ("KiB/s", 64, 102_400, "64 KB/s of 100 MB/s"),
        ("MiB", 0, 3_013, "0 of 2.9 GB"),
        ("threads", 8, 64, "8 of 64"),
    ],
)
def test_a_part_and_the_whole_have_one_unit_where_it_is_the_same(unit, units, whole, said):
    assert UnitWords("bandwidth", unit).part(units, whole) == said


@pytest.mark.parametrize(
    ("unit", "heading"), [("KiB/s", ""), ("MiB", ""), ("slots", ""), ("threads", "threads")]
)
def test_a_unit_stands_above_numbers_only_where_it_says_something(unit, heading):
    assert UnitWords("slot", unit).heading == heading


@pytest.mark.parametrize(
    ("unit", "like", "typed", "units"),
    [
        ("KiB/s", 102_336, "100", 102_400),
        ("KiB/s", 102_336, "100 MB/s", 102_400),
        ("KiB/s", 102_336, "1,024 kb", 1_024),
        ("KiB/s", 102_336, "1.5GiB/s", 1_572_864),
        ("MiB", 512, "600", 600),
        ("MiB", 3_013, "3", 3_072),
        ("KiB/s", 102_336, "1,536,000.5 KB", 1_536_000),
        ("MiB", 3_013, "1,5 GB", None),
        ("MiB", 3_013, "1,50", None),
        ("MiB", 3_013, "1,0240", None),
        ("MiB", 3_013, ",500", None),
        ("threads", 64, "1,5", None),
        ("MiB", 3_013, "3 seconds", None),
        ("MiB", 3_013, "1.2.3", None),
        ("MiB", 3_013, "-1", None),
        ("MiB", 3_013, "²", None),
        ("MiB", 3_013, "", None),
        ("threads", 64, "1,024", 1_024),
        ("threads", 64, "8 MB", None),
        ("threads", 64, "8.5", None),
    ],
)
def test_amounts_are_read_as_people_write_them(unit, like, typed, units):
    assert UnitWords("a", unit).read(typed, like=like) == units


@pytest.mark.parametrize(
    ("unit", "units", "like", "written"),
    [
        ("KiB/s", 102_400, 102_400, "100"),
        ("KiB/s", 102_336, 102_336, "99.94"),
        ("KiB/s", 0, 102_336, "0"),
        ("MiB", 512, 3_013, "0.5"),
        ("threads", 10_000, 64, "10000"),
    ],
)
def test_an_amount_is_written_in_the_unit_of_another(unit, units, like, written):
    assert UnitWords("a", unit).amount_in_unit_of(units, like=like) == written

"""Lists are said as people say them."""

import pytest

from allocation.wording import beginning


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
    assert beginning(list(names), 2, between=between) == said

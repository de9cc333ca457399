"""The text that an expression requires is in all that it finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawling.web.expressions import BadExpression, read_expression, required_text


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("/private/", "/private/"),
        (r"^https://a\.test/(news|blog)/x\d+\.html$", "https://a.test/"),
        (r"[?&]session=[0-9a-f]{32}", "session="),
        ("abc?def*ghi+jk", "ghi"),
        ("a|bcd", ""),
        ("(a|b)cde", "cde"),
        (r"\d{4}-\d\d", ""),
        (r"[]x]abc[^]y]", "abc"),
        ("(?i)SeCret", "SeCret"),
        (r"[[:alpha:]]abc", ""),
        (r"\Qa.b\Exyz", ""),
        (r"\x41BCDE", ""),
        ("ab", ""),
    ],
)
def test_the_longest_text_is_found(expression, text):
    assert required_text(expression) == text


PIECES = ["abc", "xyz", "b", "?", "*", "+", "{2}", "{0,1}", "(", ")", "(?:", "(?i)", "|", "[", "]"]
PIECES += ["[^b]", "[]]", ".", "^", "$", r"\.", r"\d", r"\b", r"\[", r"\Q", r"\E", "[:", r"\x62"]


@given(
    st.lists(st.sampled_from(PIECES), max_size=9).map("".join),
    st.text("abcxyzABC.[]12", max_size=20),
)
def test_nothing_is_found_without_it(expression, text):
    try:
        found = read_expression(expression).search(text)
    except BadExpression:
        return
    if found:
        assert required_text(expression).upper() in text.upper()

"""The changes of a text that count, and the part of them that is shown."""

from __future__ import annotations

import json
import unicodedata

import pytest
import turbohtml

from crawling.datasets.seen_text import (
    SeenText,
    _html_lines,
    _joined_lines,
    _json_lines,
    _split_lines,
)
from crawling.datasets.text_diff import LONGEST_LINE, MOST_LINES, text_diff

WORDS = "same words again and again "
UNREAD = "Only the first 4,194,304 bytes are compared."


def of_html(html: str) -> SeenText:
    return SeenText(_joined_lines(_html_lines(turbohtml.parse(html), "")))


def plain(text: str) -> SeenText:
    return SeenText(_joined_lines(_split_lines(text)))


def changes(old: SeenText, new: SeenText) -> tuple[list[str], list[str]]:
    """The lines that are shown as removed and as added."""
    lines = text_diff(old, new)
    return (
        [line.text for line in lines if line.kind == "removed"],
        [line.text for line in lines if line.kind == "added"],
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<p>Hello big world of text", "<p>Hello <b>big</b> <i>wor</i>ld <a href=/x>of</a> text"),
        ("<p>autobahn", "<p>auto<wbr>bahn"),
        ("<p>Donaudampfschiff", "<p>Donau&shy;dampf&#8203;sch&zwnj;if&zwj;f&#x2060;&#xfeff;"),
        ("<p>one two", "<p>one<br>two"),
        ("<p>one two", "<div>\n<p>\n\none\r\n\ttwo\n</div>"),
        ("<p>one two three", "<p>one&nbsp;two&#x2003;three"),
        ("<p>one<p>two", "<ul><li>one<li>two</ul>"),
        ("<table><tr><td>a<td>b</table>", "<table>\n<tr>\n<td> a </td>\n<td>b</td></tr></table>"),
        ("<p>Tom &amp; J\u00e9r\u00f4me &lt;3", "<p>Tom &#38; J&eacute;r&ocirc;me &#x3c;3"),
        (
            "<p>café \ud55c\uae00 \u1e69",
            unicodedata.normalize("NFD", "<p>café \ud55c\uae00 \u1e69"),
        ),
        ("<p>seen", "<p>seen<script>1</script><style>a</style><!-- c --><template>t</template>"),
        ("<p>x", "<p>\u200e\u202bx\u202c\ufe0f\x7f"),
    ],
)
def test_white_space_markup_and_the_coding_of_characters_are_no_change(old, new):
    assert text_diff(of_html(old), of_html(new)) == []
    assert text_diff(of_html(new), of_html(old)) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<p>ab", "<p>a b"),
        ("<p>a<p>b", "<p>ab"),
        ("<select><option>one<option>two</select>", "<select><option>onetwo</select>"),
        ("<p>Hello", "<p>HELLO"),
        ("<p>x\u00b2", "<p>x2"),
        ("<title>a</title>", "<title>b</title>"),
        ("<pre>a\nb</pre>", "<pre>a\nc</pre>"),
    ],
)
def test_another_text_is_a_change(old, new):
    assert text_diff(of_html(old), of_html(new))


def test_lines_of_preformatted_text_are_lines_and_those_of_other_source_are_not():
    assert of_html("<p>a\nb</p><pre>c\nd <b>e\nf</b></pre>").text == "a b\nc\nd e\nf\n"


@pytest.mark.parametrize(
    ("at", "count"),
    [
        *((at, 100_000) for at in (3_500, 50_000, 99_999)),
        *(pytest.param(at, 500_000, marks=pytest.mark.drill) for at in (3_500, 250_000, 499_999)),
    ],
)
def test_a_change_far_down_is_told_with_the_lines_around_it(at, count):
    lines = [f"line {number}" for number in range(count)]
    old, new = "\n".join(lines), "\n".join([*lines[:at], "another", *lines[at + 1 :]])

    told = text_diff(plain(old), plain(new))

    assert changes(plain(old), plain(new)) == ([f"line {at}"], ["another"])
    assert told[0].text == f"{at - 3:,} equal lines"
    assert told[1].text == f"line {at - 3}"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (WORDS * 4_000 + "old end", WORDS * 4_000 + "new end"),
        ("old start " + WORDS * 4_000, "new start " + WORDS * 4_000),
        (WORDS * 40 + "old " + WORDS * 40, WORDS * 40 + "new " + WORDS * 40),
        (WORDS * 40, WORDS * 41),
        ("日本語" * 4_000 + "旧" + "文" * 900, "日本語" * 4_000 + "新" + "文" * 900),
        ("x" * 9_000, "x" * 9_001),
        ("a\n" + WORDS * 50 + "1\nb", "c\n" + WORDS * 50 + "2\nd"),
        (WORDS * 50 + "1\nend", "end\n" + WORDS * 50 + "2"),
        ("x " + "long" * 999, "y z " + "long" * 999),
    ],
)
def test_of_long_lines_the_part_that_differs_is_shown(old, new):
    removed, added = changes(plain(old), plain(new))

    assert removed or added
    assert not set(removed) & set(added)
    assert max(map(len, removed + added)) < LONGEST_LINE + 10


def test_changes_that_are_not_shown_are_counted():
    old, new = (plain("\n".join(f"{mark}{at}" for at in range(30_000))) for mark in "ab")

    told = text_diff(old, new, most=10)

    assert len(told) == 11
    assert told[-1].text.endswith("more lines")
    shown = text_diff(old, new, most=10**6)
    assert shown[-1].text == f"Of the lines behind these {MOST_LINES:,}, none is shown."


def test_what_is_not_compared_is_told_also_where_nothing_else_differs():
    one = SeenText("a\n", UNREAD)

    assert [line.kind for line in text_diff(one, one)] == ["skipped", "skipped"]
    assert "The rest was not compared." in text_diff(one, one)[-1].text
    assert [line.kind for line in text_diff(one, SeenText("b\n"))] == [
        "removed",
        "added",
        "skipped",
    ]


def test_json_is_compared_by_what_it_says():
    old = json.dumps({"a": [1, {"b": "é", "c": 2.50}], "d": None})
    new = json.dumps({"d": None, "a": [1, {"c": 2.50, "b": "é"}]}, indent=4, ensure_ascii=False)
    assert _json_lines(old) == _json_lines(new)
    other = old.replace("null", "1")
    assert changes(plain(_json_lines(old)), plain(_json_lines(other))) == (
        ['"d": null'],
        ['"d": 1'],
    )
    for odd in ('{"a": 1, "a": 2}', "[" * 100_000, '{"a": ', "1" * 5_000):
        assert _json_lines(odd) == odd
    plain(_json_lines('"\\ud800\\u0000"')).text.encode()

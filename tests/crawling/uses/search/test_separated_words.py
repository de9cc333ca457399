"""Words are the same whichever way a text is separated into them."""

from __future__ import annotations

import pytest
import tantivy
from hypothesis import example, given
from hypothesis import strategies as st

from crawling.web.words import KNOWN, WORD, separated_words, word_analyzer

#: what pages have, of scripts with blanks between words, and of others
USUAL = st.sampled_from(KNOWN)
ANY = st.characters(exclude_categories=["Cs"])
#: finds words as the expression WORD defines them
BY_DEFINITION = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.regex(WORD)).build()


def words_of(text):
    return [word for word in separated_words(text).split(" ") if word]


@given(st.text(ANY) | st.text(USUAL) | st.text(st.characters(codec="ascii")))
@example("don\u2019t\u00a0stop \u2013 now")
@example("\u6771\u4eac\u3078 Tokyo2024\u5e74")
@example("\u0939\u093f\u0928\u094d\u0926\u0940 \u0e44\u0e17\u0e22")
@example("e\u0301te\u0301 a\u0308_b")
@example("\x1cone\x85two\u3000three\u2028four")
def test_a_text_is_separated_as_its_definition_says(text):
    assert words_of(text) == BY_DEFINITION.analyze(text)


def test_of_each_character_it_is_known_whether_it_is_in_words():
    texts = [f"a{chr(code)}b" for code in range(0x10000) if not 0xD800 <= code < 0xE000]

    assert [text for text in texts if words_of(text) != BY_DEFINITION.analyze(text)] == []


@pytest.mark.parametrize("language", ["en", "de", "other"])
def test_the_words_of_a_separated_text_are_those_of_the_text(language):
    latin, others = (
        "Les Mise\u0301rables \u2013 caf\u00e9s, it\u2019s 42",
        "\u6771\u4eac \u0e44\u0e17\u0e22",
    )
    text = f"{latin} {others} {'x' * 101}"

    words = word_analyzer(language).analyze(text)

    assert word_analyzer(language, is_separated=True).analyze(separated_words(text)) == words
    assert len(words) == 11

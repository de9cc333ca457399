"""Words are the same whichever way a text is separated into them."""

from __future__ import annotations

from unicodedata import category

import pytest
import tantivy
from hypothesis import example, given
from hypothesis import strategies as st

from crawling.web.words import FIRST_UNSPACED, WORD, separated, word_analyzer

#: Python and tantivy know different versions of Unicode, so only what both know
KNOWN = st.characters(exclude_categories=["Cn", "Co", "Cs"], max_codepoint=0x1FFFF)
#: what pages have between words, and letters of scripts with blanks
USUAL = st.characters(exclude_categories=["Cn", "Cs"], max_codepoint=ord(FIRST_UNSPACED) - 1)
PUNCTUATION = st.characters(min_codepoint=0x2000, max_codepoint=0x206F, exclude_categories=["Cn"])


#: finds words as the expression WORD defines them
BY_DEFINITION = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.regex(WORD)).build()


@given(st.text(KNOWN) | st.text(USUAL | PUNCTUATION) | st.text(st.characters(codec="ascii")))
@example("don\u2019t\u00a0stop \u2013 now")
@example("\u6771\u4eac\u3078 Tokyo2024\u5e74")
@example("\u0939\u093f\u0928\u094d\u0926\u0940 \u0e44\u0e17\u0e22")
@example("e\u0301te\u0301 a\u0308_b")
@example("\x1cone\x85two\u3000three\u2028four")
def test_a_text_is_separated_as_its_definition_says(text):
    assert [word for word in separated(text).split(" ") if word] == BY_DEFINITION.analyze(text)


@pytest.mark.parametrize("code", range(0x2000, 0x2070))
def test_no_punctuation_of_its_block_is_in_a_word(code):
    assert category(chr(code))[0] not in "LNM"
    assert not separated(chr(code)).strip()


@pytest.mark.parametrize("language", ["en", "de", "other"])
def test_the_words_of_a_separated_text_are_those_of_the_text(language):
    latin, others = (
        "Les Mise\u0301rables \u2013 caf\u00e9s, it\u2019s 42",
        "\u6771\u4eac \u0e44\u0e17\u0e22",
    )
    text = f"{latin} {others} {'x' * 101}"

    words = word_analyzer(language).analyze(text)

    assert word_analyzer(language, is_separated=True).analyze(separated(text)) == words
    assert len(words) == 11

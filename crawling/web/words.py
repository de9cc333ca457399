"""Splits text in its searched form into words, for the search index and for topics: without
accents, and without the endings of its language.
"""

from __future__ import annotations

import re
from functools import cache
from unicodedata import category

import tantivy

#: languages with a stemmer, by code
STEMMERS = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
#: the languages with a list of stop words, such as `the`
STOP_WORDS = frozenset(STEMMERS) - {"ar", "el", "ro", "ta", "tr"}
#: Scripts without blanks between words. Each sign counts as a word, and a word of several signs is
#: found as a phrase. So no dictionary is needed, and any part of a compound can be found.
UNSPACED = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
    r"\p{Tibetan}"
)
WORD = rf"[{UNSPACED}]|[[\p{{L}}\p{{N}}\p{{M}}]--[{UNSPACED}]]+"
#: Characters about which Python's word characters agree with ours: those below the first unspaced
#: script, and the punctuation, signs and letters before the radicals of Han. Python separates a
#: text of these in half the time that the analyzer's expression takes.
KNOWN = "".join(map(chr, (*range(0x0E00), *range(0x2000, 0x2E80))))
#: exceptions: two signs of Bopomofo, and characters that a later version of Unicode may count as
#: letters
UNKNOWN = "\u02ea\u02eb" + "".join(one for one in KNOWN if category(one) == "Cn")
LEFT_TO_EXPRESSION = re.compile(f"[{UNKNOWN}\u0e00-\u1fff\u2e80-\U0010ffff]")
IN_WORDS = "".join(one for one in KNOWN if category(one)[0] in "LNM")
BETWEEN_WORDS = re.compile(f"[^{IN_WORDS}]+")
ASCII_WORDS = bytes(one if chr(one) in IN_WORDS else ord(" ") for one in range(256))
#: the most bytes of a word; a longer string is no word
LONGEST_WORD = 100


def separated_words(text: str) -> str:
    """A text as the words that WORD finds in it, separated by blanks."""
    if text.isascii():
        return text.encode().translate(ASCII_WORDS).decode()
    if LEFT_TO_EXPRESSION.search(text):
        return " ".join(_separator().analyze(text))
    return BETWEEN_WORDS.sub(" ", text)


@cache
def _separator() -> tantivy.TextAnalyzer:
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.regex(WORD)).build()


def word_analyzer(
    language: str, *, has_stop_words: bool = True, is_separated: bool = False
) -> tantivy.TextAnalyzer:
    """The analyzer of a language, by its code. Without a stemmer for the language, words keep their
    endings.

    has_stop_words: stop words like `the` count as words, too. Only the languages in STOP_WORDS have
    a list of them. is_separated: for texts that are `separated_words`.
    """
    tokenizer = tantivy.Tokenizer.whitespace() if is_separated else tantivy.Tokenizer.regex(WORD)
    builder = tantivy.TextAnalyzerBuilder(tokenizer)
    builder = builder.filter(tantivy.Filter.remove_long(LONGEST_WORD))
    builder = builder.filter(tantivy.Filter.lowercase())
    if not has_stop_words and language in STOP_WORDS:
        builder = builder.filter(tantivy.Filter.stopword(STEMMERS[language]))
    if language in STEMMERS:  # before accents are removed, which stemmers need
        builder = builder.filter(tantivy.Filter.stemmer(STEMMERS[language]))
    return builder.filter(tantivy.Filter.ascii_fold()).build()

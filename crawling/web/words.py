"""How text in its searched form becomes words, for the search index and for topics: without
accents, and without the endings of its language.
"""

from __future__ import annotations

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
#: those of them with a list of words that say nothing, like `the`
STOP_WORDS = frozenset(STEMMERS) - {"ar", "el", "ro", "ta", "tr"}
#: Scripts without blanks between words: each sign is a word, and a word of several signs is found
#: as a phrase. So no dictionary is needed, and any part of a compound is found.
UNSPACED = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
    r"\p{Tibetan}"
)
WORD = rf"[{UNSPACED}]|[[\p{{L}}\p{{N}}\p{{M}}]--[{UNSPACED}]]+"
#: bytes of a word; longer ones are no words
LONGEST_WORD = 100


def word_analyzer(language: str, *, has_stop_words: bool = True) -> tantivy.TextAnalyzer:
    """The analyzer of a language, by its code; a language without a stemmer keeps its endings.

    has_stop_words: `the`, `of` and the like are words, too. Only the languages of STOP_WORDS have
    a list of them.
    """
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.regex(WORD))
    builder = builder.filter(tantivy.Filter.remove_long(LONGEST_WORD))
    builder = builder.filter(tantivy.Filter.lowercase())
    if not has_stop_words and language in STOP_WORDS:
        builder = builder.filter(tantivy.Filter.stopword(STEMMERS[language]))
    if language in STEMMERS:  # before accents go, which stemmers know
        builder = builder.filter(tantivy.Filter.stemmer(STEMMERS[language]))
    return builder.filter(tantivy.Filter.ascii_fold()).build()

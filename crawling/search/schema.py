"""The index's fields, and how text becomes words.

A page's text is in the fields of its language, whose words are stemmed; a query asks the fields of
all languages that the index has, each with its own stems.
"""

from __future__ import annotations

from functools import cache

import tantivy

#: parts of a page, and how much a word in each counts
PARTS = {"title": 4.0, "headings": 2.0, "text": 1.0, "around": 0.3}
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
#: the fields of all other languages
OTHER = "other"
FIELD_LANGUAGES = (*STEMMERS, OTHER)
#: Scripts without blanks between words: each sign is a word, and a word of several signs is found
#: as a phrase. So no dictionary is needed, and any part of a compound is found.
UNSPACED = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
    r"\p{Tibetan}"
)
WORD = rf"[{UNSPACED}]|[[\p{{L}}\p{{N}}\p{{M}}]--[{UNSPACED}]]+"
#: bytes of a word; longer ones are no words
LONGEST_WORD = 100


def field_of(part: str, language: str) -> str:
    """The field of a part of a page in a language."""
    return f"{part}_{language if language in STEMMERS else OTHER}"


@cache
def analyzers() -> dict[str, tantivy.TextAnalyzer]:
    """By language of fields. The same serve the index and its questions."""
    return {language: _analyzer(language) for language in FIELD_LANGUAGES}


def _analyzer(language: str) -> tantivy.TextAnalyzer:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.regex(WORD))
    builder = builder.filter(tantivy.Filter.remove_long(LONGEST_WORD))
    builder = builder.filter(tantivy.Filter.lowercase())
    if language in STEMMERS:  # before accents go, which stemmers know
        builder = builder.filter(tantivy.Filter.stemmer(STEMMERS[language]))
    return builder.filter(tantivy.Filter.ascii_fold()).build()


def new_schema() -> tantivy.Schema:
    """The numbers are the rows' ids; `month` is like 2026-11."""
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("page", stored=True, indexed=True, fast=True)
    builder.add_unsigned_field("part", indexed=True)
    builder.add_unsigned_field("run", indexed=True, fast=True)
    builder.add_unsigned_field("crawl", indexed=True, fast=True)
    for name in ("host", "type", "month"):
        builder.add_text_field(name, fast=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field(
        "language", stored=True, fast=True, tokenizer_name="raw", index_option="basic"
    )
    for language in FIELD_LANGUAGES:
        for part in PARTS:
            # snippets are made of the text
            builder.add_text_field(
                field_of(part, language), stored=part == "text", tokenizer_name=f"words_{language}"
            )
    return builder.build()


def with_analyzers(index: tantivy.Index) -> tantivy.Index:
    for language, analyzer in analyzers().items():
        index.register_tokenizer(f"words_{language}", analyzer)
    return index

"""The index's fields, and the words in them.

A page's text is in the fields of its language, with stemmed words. A query searches the fields of
all languages in the index, with the stems of each language.
"""

from __future__ import annotations

from functools import cache

import tantivy

from crawling.web.words import STEMMERS, word_analyzer

#: the parts of a page, with the weight of a word in each
PARTS = {"title": 4.0, "headings": 2.0, "text": 1.0, "around": 0.3}
#: the field with the unchanged text of the page
SHOWN = "shown"
#: the name in the fields of all other languages
OTHER = "other"
FIELD_LANGUAGES = (*STEMMERS, OTHER)


def field_of(part: str, language: str) -> str:
    return f"{part}_{language if language in STEMMERS else OTHER}"


@cache
def analyzers() -> dict[str, tantivy.TextAnalyzer]:
    """The analyzers by the languages of fields, for queries and snippets."""
    return {language: word_analyzer(language) for language in FIELD_LANGUAGES}


def new_schema() -> tantivy.Schema:
    """The fields. Numbers are the ids of rows; `month` is like 2026-11."""
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
    # the text for snippets; the searched texts have another form
    builder.add_bytes_field(SHOWN, stored=True, indexed=False)
    for language in FIELD_LANGUAGES:
        for part in PARTS:
            builder.add_text_field(field_of(part, language), tokenizer_name=f"words_{language}")
    return builder.build()


def register_analyzers(index: tantivy.Index) -> tantivy.Index:
    for language, analyzer in analyzers().items():
        index.register_tokenizer(f"words_{language}", analyzer)
    return index


def register_writing_analyzers(index: tantivy.Index) -> tantivy.Index:
    """The index, for adding texts that are already separated into words; tantivy itself would take
    twice as long to separate them.
    """
    for language in FIELD_LANGUAGES:
        analyzer = word_analyzer(language, is_separated=True)
        index.register_tokenizer(f"words_{language}", analyzer)
    return index

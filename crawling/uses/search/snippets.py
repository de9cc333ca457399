"""The part of a page's text that contains the searched words, which are marked.

tantivy reads each word of a text for this, which takes 0.3 µs a character. So it gets only a block
of a long text: the block with the most of the searched words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import tantivy

from crawling.uses.search.queries import Clause
from crawling.uses.search.schema import SHOWN, field_of
from crawling.web.content.normal_text import searched_form, searched_form_with_places
from serving.listing.columns import Column

SNIPPET_CHARACTERS = 240
#: the most characters of a text from which a snippet is made
BLOCK = 4_000
#: the number of letters at the end of a word that are ignored in the search for a block, since
#: endings differ, and the least number of letters that remain
ENDING, LEAST_LETTERS = 3, 3


@dataclass(frozen=True)
class SnippetPart:
    """A part of a snippet. Parts with the searched words are marked."""

    text: str
    is_marked: Annotated[bool, Column("it is a word that was looked for")]


class SnippetWriter:
    def __init__(
        self,
        clauses: Iterable[Clause],
        query: tantivy.Query,
        searcher: tantivy.Searcher,
        schema: tantivy.Schema,
    ) -> None:
        self._query, self._searcher, self._schema = query, searcher, schema
        self._beginnings = list(_beginnings_of_words(clauses))
        self._generators: dict[str, tantivy.SnippetGenerator] = {}

    def snippet(self, document: tantivy.Document) -> Sequence[SnippetPart]:
        """The snippet of a text: the beginning of the text if it has none of the words, and nothing
        if there is no text.
        """
        text = shown_text(document)
        if not text:
            return []
        name, block = field_of("text", document.get_first("language") or ""), tantivy.Document()
        chosen = best_block(text, self._beginnings)
        folded, places = searched_form_with_places(chosen)
        block.add_text(name, folded)
        found = self._generator(name).snippet_from_doc(block)
        marked = list(_snippet_parts(found, folded, chosen, places))
        return marked or [SnippetPart(text[:SNIPPET_CHARACTERS], is_marked=False)]

    def _generator(self, name: str) -> tantivy.SnippetGenerator:
        if name not in self._generators:
            made = tantivy.SnippetGenerator.create(self._searcher, self._query, self._schema, name)
            made.set_max_num_chars(SNIPPET_CHARACTERS)
            self._generators[name] = made
        return self._generators[name]


def shown_text(document: tantivy.Document) -> str:
    """The text of a found page, unchanged."""
    return bytes(document.get_first(SHOWN) or b"").decode()


def _beginnings_of_words(clauses: Iterable[Clause]) -> Iterator[str]:
    for clause in clauses:
        for term in clause:
            for word in () if term.is_excluded else searched_form(term.text).split():
                yield word[: max(len(word) - ENDING, LEAST_LETTERS)]


def best_block(text: str, beginnings: Sequence[str]) -> str:
    """The block of a text with the most words that begin like this; of several, the first. A match
    after a blank counts more, since a word certainly begins there.
    """
    blocks = (text[at : at + BLOCK] for at in range(0, len(text), BLOCK))
    return max(blocks, key=lambda block: _weight_of_block(searched_form(block), beginnings))


def _weight_of_block(block: str, beginnings: Sequence[str]) -> int:
    return sum((word in block) + (f" {word}" in block) for word in beginnings)


def _snippet_parts(
    snippet: tantivy.Snippet, folded: str, text: str, places: Sequence[int]
) -> Iterator[SnippetPart]:
    """The original text for a snippet of the folded form. The places of words are counted in
    bytes.
    """
    fragment = snippet.fragment()
    words = [_character_places(fragment, word.start, word.end) for word in snippet.highlighted()]
    if not words:
        return
    begin = folded.index(fragment)
    at = places[begin]
    for start, end in words:
        first, last = places[begin + start], places[begin + end]
        if first < at:
            continue
        if first > at:
            yield SnippetPart(text[at:first], is_marked=False)
        yield SnippetPart(text[first:last], is_marked=True)
        at = last
    if rest := text[at : places[begin + len(fragment)]]:
        yield SnippetPart(rest, is_marked=False)


def _character_places(text: str, start: int, end: int) -> tuple[int, int]:
    data = text.encode()
    return len(data[:start].decode()), len(data[:end].decode())

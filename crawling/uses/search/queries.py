"""A user's text as a query for the index. This module uses neither Django nor files.

All words must occur, in any order and form. "Words in quotes" are a phrase, -word excludes a word,
and OR between two words accepts either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import tantivy
from tantivy import Occur, Query

from crawling.base.errors import BadOrder
from crawling.uses.search.schema import PARTS, analyzers, field_of
from crawling.web.content.normal_text import searched_form

#: the most words of a query; each is searched in every field
MOST_WORDS = 32
OR, NOT, QUOTE = "OR", "-", '"'
#: quotation marks that keyboards and editors use instead of "
QUOTES = str.maketrans(dict.fromkeys("“”„«»", QUOTE))


class BadQuery(BadOrder):
    """An invalid query; the sentence says what to change."""

    def __init__(self, sentence: str) -> None:
        super().__init__({"q": sentence})
        self.sentence = sentence


@dataclass(frozen=True)
class Term:
    text: str
    is_phrase: bool = False
    is_excluded: bool = False


#: terms, one of which must match
Clause = tuple[Term, ...]


def read_query(text: str) -> list[Clause]:
    """The clauses of a query. A page must match all of them. Raises BadQuery."""
    clauses: list[Clause] = []
    joins = False
    for piece, is_phrase, is_excluded in _query_pieces(text.translate(QUOTES)):
        if piece == OR and not (is_phrase or is_excluded):
            if joins or not clauses:
                raise BadQuery("OR needs a word before and behind it, or quotes around it.")
            joins = True
            continue
        term = Term(piece, is_phrase, is_excluded)
        if joins:
            if is_excluded or clauses[-1][0].is_excluded:
                raise BadQuery("OR cannot join words that pages must not have: remove OR or the -.")
            clauses[-1] = (*clauses[-1], term)
        else:
            clauses.append((term,))
        joins = False
    if joins:
        raise BadQuery("OR needs a word before and behind it, or quotes around it.")
    if all(clause[0].is_excluded for clause in clauses):
        raise BadQuery("Add a word to be found: -word only leaves pages out.")
    if sum(map(len, clauses)) > MOST_WORDS:
        raise BadQuery(f"A query has at most {MOST_WORDS} words and phrases: leave some out.")
    return clauses


def _query_pieces(text: str) -> Iterator[tuple[str, bool, bool]]:
    """Each word or phrase of a text, whether it is a phrase, and whether it excludes pages."""
    if text.count(QUOTE) % 2:
        raise BadQuery('A phrase has no end: add a " behind it, or remove the one before it.')
    is_excluded = False
    for number, part in enumerate(text.split(QUOTE)):
        if number % 2:
            yield part, True, is_excluded
            is_excluded = False
            continue
        # a minus sign directly before a quotation mark belongs to the phrase
        is_excluded = part.endswith(NOT) and (len(part) == 1 or part[-2].isspace())
        for word in (part[:-1] if is_excluded else part).split():
            bare = word.lstrip(NOT)
            yield bare or word, False, bare != word and bool(bare)


def query_of(
    clauses: Iterable[Clause], schema: tantivy.Schema, languages: Sequence[str]
) -> tantivy.Query:
    """The query, in the fields of these languages. Raises BadQuery if it has no word."""
    found: list[tuple[Occur, Query]] = []
    for clause in clauses:
        terms = [term for term in (_term_query(one, schema, languages) for one in clause) if term]
        if not terms:
            continue
        one = terms[0] if len(terms) == 1 else Query.disjunction_max_query(terms)
        found.append((Occur.MustNot if clause[0].is_excluded else Occur.Must, one))
    if not any(occur == Occur.Must for occur, _ in found):
        raise BadQuery("Type a word: letters or digits are searched, other signs are not.")
    return Query.boolean_query(found)


def _term_query(term: Term, schema: tantivy.Schema, languages: Sequence[str]) -> Query | None:
    """The query for a word. None if it has no letters or digits."""
    found = []
    for language in languages:
        words = analyzers()[language].analyze(searched_form(term.text))
        for part, boost in PARTS.items() if words else ():
            field = field_of(part, language)
            query = (
                Query.term_query(schema, field, words[0])
                if len(words) == 1
                else Query.phrase_query(schema, field, list(words))
            )
            found.append(Query.boost_query(query, boost))
    # a page has the weight of its best part, and a little more if a second part matches
    return Query.disjunction_max_query(found, 0.1) if found else None

"""A typed query is read as a user would expect, or refused with what to change."""

from __future__ import annotations

import pytest

from crawling.uses.search.queries import MOST_WORDS, BadQuery, Term, read_query
from crawling.uses.search.schema import analyzers


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("apple tree", [(Term("apple"),), (Term("tree"),)]),
        ('"apple tree" pie', [(Term("apple tree", is_phrase=True),), (Term("pie"),)]),
        ("„apple tree“", [(Term("apple tree", is_phrase=True),)]),
        ("apple -pear", [(Term("apple"),), (Term("pear", is_excluded=True),)]),
        ('apple -"a pear"', [(Term("apple"),), (Term("a pear", True, True),)]),
        ("well-known", [(Term("well-known"),)]),
        ("apple OR pear pie", [(Term("apple"), Term("pear")), (Term("pie"),)]),
        ('apple or "OR"', [(Term("apple"),), (Term("or"),), (Term("OR", is_phrase=True),)]),
    ],
)
def test_words_phrases_exclusions_and_choices_are_read(text, clauses):
    assert read_query(text) == clauses


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ('an "open phrase', 'add a "'),
        ("-only -these", "Add a word"),
        ("OR apple", "OR needs"),
        ("apple OR", "OR needs"),
        ("apple OR -pear", "OR cannot join"),
        ("word " * (MOST_WORDS + 1), "leave some out"),
        ("", "Add a word"),
    ],
)
def test_a_query_that_cannot_be_asked_says_what_to_change(text, remedy):
    with pytest.raises(BadQuery) as refused:
        read_query(text)

    assert remedy in refused.value.sentence
    assert list(refused.value.errors) == ["q"]


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("en", "Running apple-trees", ["run", "appl", "tree"]),
        ("de", "Die Bäume häuften", ["die", "baum", "hauft"]),
        ("other", "as_mut_ptr Ελλάδα", ["as", "mut", "ptr", "ελλαδα"]),
        ("other", "日本語 text", ["日", "本", "語", "text"]),
        ("other", "x" * 101, []),
    ],
)
def test_text_becomes_words_by_its_language(language, text, words):
    found = analyzers()[language].analyze(text)

    # accents of other scripts are kept
    assert [word.replace("ά", "α") for word in found] == words

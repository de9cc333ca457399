"""The recorded facts of a text are the same whenever they are computed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawling.models import Page
from crawling.web.content import text_facts
from crawling.web.content.text_facts import (
    LONGEST_KEPT,
    MOST_COMPARED,
    TextFacts,
    distinctive_words,
    text_key,
    word_marks,
)
from crawling.web.simhash import simhash

URL, TITLE = "http://h.test/willow", "The willow"
SHORT = "A willow grows by the lake, and its leaves fall into the water in autumn. "
LONG = SHORT * (MOST_COMPARED // len(SHORT) + 1)


@pytest.mark.parametrize("is_first", [True, False])
@given(text=st.text(max_size=99) | st.just(SHORT) | st.just(LONG), is_listed=st.booleans())
def test_it_is_computed_in_a_batch_or_when_it_is_asked_for(is_first, text, is_listed):
    facts = TextFacts(text, URL, TITLE, has_key=True, is_listed=is_listed)
    if is_first:
        facts.compute()
    words = distinctive_words(text, URL, TITLE)

    assert facts.simhash == (simhash(text) if text else None)
    assert facts.key == (text_key(words) if len(text) <= MOST_COMPARED else simhash(text) or b"")
    assert facts.marks == (word_marks(words) if is_listed else frozenset())
    assert facts.abstract == " ".join(facts.abstract.split())


def test_a_page_that_is_not_compared_has_no_key():
    facts = TextFacts(SHORT)

    assert (facts.key, facts.marks, facts.simhash) == (None, frozenset(), simhash(SHORT))
    assert TextFacts("").key is None
    assert TextFacts("", has_key=True).key == b""


def test_a_long_text_is_not_kept_until_its_page_is_recorded(monkeypatch):
    at_once = TextFacts("x" * (LONGEST_KEPT + 1), has_key=True)
    later = TextFacts("x" * LONGEST_KEPT, has_key=True)

    monkeypatch.setattr(text_facts, "simhash", lambda text: None)

    assert at_once.simhash is not None
    assert later.simhash is None


def test_without_memory_for_it_it_is_computed_again(monkeypatch):
    facts = TextFacts(SHORT, has_key=True)

    def no_memory(text):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(text_facts, "simhash", no_memory)
        with pytest.raises(MemoryError):
            facts.compute()

    assert facts.simhash == simhash(SHORT)


@pytest.mark.django_db(transaction=True)
def test_a_text_at_which_they_fail_costs_its_page_these_alone(
    crawl_to_the_end, make_site, monkeypatch
):
    site = make_site({"/": f'<a href="/other">x</a>{SHORT}', "/other": LONG})

    def stumble(text):
        if text == SHORT.strip() or "x" in text[:1]:
            raise ValueError
        return simhash(text)

    monkeypatch.setattr(text_facts, "simhash", stumble)

    run = crawl_to_the_end(f"{site.url}/")

    states = dict(run.urls.values_list("url", "state"))
    assert states == {f"{site.url}/": "s", f"{site.url}/other": "s"}
    pages = dict(Page.objects.filter(run=run).values_list("url__url", "simhash"))
    assert pages == {f"{site.url}/": None, f"{site.url}/other": simhash(LONG)}

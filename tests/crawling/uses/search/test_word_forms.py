"""Words are found however their letters are coded, and an index of earlier forms is made anew."""

from __future__ import annotations

import time
import unicodedata

import pytest

from crawling.base.errors import IndexBroken
from crawling.datasets.catch_up import catch_up
from crawling.models import Run
from crawling.uses.search import folder
from crawling.uses.search.folder import index_folder
from crawling.uses.search.index import repair_index
from crawling.uses.search.search import SearchFilter, search_texts
from crawling.web.content.normal_text import (
    normalized_line,
    searched_form,
    searched_form_with_places,
)
from crawling.web.documents import base, html_text
from crawling.web.topics import Topic
from tests.crawling.pages import browser, soup
from tests.crawling.reading import index_what_was_read, read_to_the_end

ALL = SearchFilter()
#: what the page has, and what is typed: each finds the other
FORMS = [
    ("caf\u00e9teria", unicodedata.normalize("NFD", "CAF\u00c9TERIA")),
    ("o\ufb03ces \ufb01ndings", "office finding"),
    ("\uff32\uff35\uff2e\uff2e\uff29\uff2e\uff27", "runs"),
    ("\uff76\uff9e\uff72\uff84\uff9e", "\u30ac\u30a4\u30c9"),
    ("\u0130stanbul", "istanbul"),
    ("Donau\u00addampf\u200bschiff", "donaudampfschiff"),
    ("\u1112\u1161\u11ab\u1100\u1173\u11af", "\ud55c\uae00"),
    ("Stra\u00dfenbahn", "STRASSENBAHN"),
    ("\u2460\u2461x\u00b2 \u33a5", "12x2 m3"),
    ("\U0001d4e2\U0001d4ec\U0001d4fb\U0001d4f2\U0001d4f9\U0001d4fd", "script"),
]
HEAD = "<!doctype html><html lang=en><meta charset=utf-8>"


@pytest.fixture(scope="module")
def site(shared):
    pages = {f"/{n}": f"{HEAD}<p>{form}</p>" for n, pair in enumerate(FORMS) for form in pair[:1]}
    pages |= {f"/t{n}": f"{HEAD}<p>{typed}</p>" for n, (_, typed) in enumerate(FORMS)}
    home = "".join(f"<a href={path}>.</a>" for path in pages)
    return shared.serve({"/": HEAD + home, **pages})


@pytest.fixture(scope="module")
def crawled(site, shared, crawl_once):
    run = crawl_once(f"{site.url}/")
    shared.do(catch_up, run.pk)
    shared.do(lambda: read_to_the_end(run))
    return run


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


def found(site, text):
    hits = search_texts(text, ALL).hits
    return {hit.page.url.url.removeprefix(f"{site.url}/"): hit for hit in hits}


def test_each_form_of_a_word_finds_the_others_and_is_shown_as_the_page_has_it(site, run):
    for number, (form, typed) in enumerate(FORMS):
        for text in (form, typed):
            hits = found(site, text)
            assert hits.keys() >= {f"{number}", f"t{number}"}, (form, text)
            snippet = hits[f"{number}"].snippet
            assert "".join(part.text for part in snippet) == form
            assert any(part.is_marked for part in snippet)


def test_a_topic_counts_each_form_of_a_word(run):
    for form, typed in FORMS:
        assert Topic([typed]).of_text(form, "en") > 0, form


@pytest.mark.parametrize(
    "text", [text for pair in FORMS for text in pair] + ["", "\u0301a", "\ufdfa"]
)
def test_places_lead_from_each_character_to_the_one_that_it_comes_from(text):
    folded, places = searched_form_with_places(text)

    assert folded == searched_form(text)
    assert len(places) == len(folded) + 1
    assert places == sorted(places)
    assert (places[0], places[-1]) == (0, len(text))


def test_a_letter_with_very_many_marks_takes_no_longer_than_others():
    text = "a" + "\u0301\u0316" * 20_000
    began = time.thread_time()

    assert len(searched_form(text)) < 40
    assert normalized_line(f"{text}b") == normalized_line("a" + "\u0301\u0316" * 15 + "b")
    assert time.thread_time() - began < 0.5


def test_an_index_of_earlier_forms_is_made_anew_and_searches_say_so(site, run, monkeypatch):
    former = index_folder()
    monkeypatch.setattr(folder, "FOLDER", "search-of-tests")
    monkeypatch.setattr(folder, "FORMER_FOLDERS", (former.name,))
    with pytest.raises(IndexBroken):
        search_texts("office", ALL)

    repair_index()
    index_what_was_read()

    assert "1" in found(site, "office")
    assert not former.exists()


def test_the_page_says_how_much_of_a_text_is_searched(run):
    viewer = browser("viewer")
    for query in ({}, {"q": "nowhere"}):
        shown = " ".join(soup(viewer.get("/search/text/", query)).text.split())
        assert f"Of an HTML page the first {html_text.MOST_TEXT:,} characters" in shown
        assert f"of other documents the first {base.MOST_TEXT:,}." in shown


@pytest.mark.parametrize("beside", ["", "\U0001d4e2"], ids=["basic characters", "further ones"])
@pytest.mark.parametrize("mark", ["\u0301", "\uff9e", "\U0001e2ec"])
def test_no_letter_keeps_more_marks_than_languages_have(mark, beside):
    text = f"a{mark * 500}b{beside}"

    assert normalized_line(text) == normalized_line(f"a{mark * 30}b{beside}")
    assert searched_form(text) == searched_form(f"a{mark * 30}b{beside}")

"""The text of a page for a search: what it is about apart from what stands around it."""

from __future__ import annotations

import time

import pytest
import turbohtml

from crawling.web.documents.html_text import MOST_AROUND, MOST_HEADINGS, MOST_TEXT, text_of
from crawling.web.documents.languages import language_of

ENGLISH = "The quick brown fox jumps over the lazy dog and runs into the wood. " * 5
GERMAN = "Der schnelle braune Fuchs springt über den faulen Hund und läuft in den Wald. " * 5


def read(html):
    return text_of(turbohtml.parse(html))


def test_a_main_part_is_told_from_what_is_around_it():
    page = read(
        "<html lang=de-AT><title> A \n title</title><nav>menu</nav><main><h1>Head</h1>"
        "<p>w<b>or</b>d<table><tr><td>a<td>b</table><script>no</script></main><footer>foot</footer>"
    )

    assert page == ("A title", "Head", "Head word a b", "menu foot", "de-AT")


def test_without_a_main_part_all_is_text_but_for_menus_and_the_like():
    page = read(
        "<header>site<nav>menu</nav></header><article><header>by me</header>text</article>"
        "<div role=navigation>more</div><aside>ad</aside><template>no</template>"
    )

    assert (page.text, page.around) == ("by me text", "site menu more ad")


@pytest.mark.parametrize(
    "html",
    [
        "<table><tr><td>" + "x" * 100_000 + "<td>y" + "<tr><td>a<td>b" * 5_000,
        "<ul><li>a" * 20_000,
        "<nav>a" * 20_000,
        "<h1>a<div>" * 20_000,
        "<main>a" * 20_000,
    ],
)
def test_a_hostile_page_costs_little_and_says_no_more_than_others(html):
    began = time.process_time()
    page = read(html)

    assert time.process_time() - began < 2
    assert len(page.headings) <= MOST_HEADINGS
    assert len(page.text) <= MOST_TEXT
    assert len(page.around) <= MOST_AROUND


#: the detector takes it for French, and is sure
PRICES = "Tables Day From To Name Amount, EUR " + "".join(f"Gift & {n} {n}000 " for n in range(20))


@pytest.mark.parametrize(
    ("text", "stated", "language"),
    [
        (ENGLISH, "de", "en"),
        (GERMAN, "", "de"),
        ("kurz", "de-AT", "de"),
        ("short", "nb", "no"),
        ("short", "*/../x", ""),
        (PRICES, "en", "en"),
        ("これは日本語の長い文章です。" * 20, "", "ja"),
        ("", "", ""),
    ],
)
def test_a_long_text_says_its_language_and_a_short_one_what_its_page_states(text, stated, language):
    assert language_of(text, stated) == language

"""The similarity of a page or a link to a topic, by the words that they have in common.

After Shark-Search (Hersovici et al. 1998), in which best-first search (Cho, Garcia-Molina and Page
1998; De Bra et al. 1994) uses a link's own text and the pages that lead to it, and focused crawling
(Chakrabarti, van den Berg and Dom 1999), which learns a topic from example pages.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from heapq import nlargest
from math import log, sqrt
from operator import itemgetter
from urllib.parse import unquote, urlsplit

import tantivy

from crawling.web.content.normal_text import searched_form
from crawling.web.words import STEMMERS, word_analyzer

#: the most characters of a page that are compared; the beginning of a page shows its topic
MOST_TEXT = 8_192
#: the most words of a topic: the words with the greatest weight in its lines
MOST_WORDS = 200
#: the number of a page's words that count fully, so that a long page is not about everything
USUAL_WORDS = 1_000
#: the most links whose own similarity is remembered, since a site's navigation is on each page
MOST_LINKS = 8_192
#: the weights of the page's similarity, and of the link's own words, in a link's similarity
INHERITED = 0.5
#: the part of its expected similarity that a page without any of the words passes to its links
DECAY = 0.5
#: the language of a page that states none
USUAL_LANGUAGE = "en"


def _stemmer_language(stated: str) -> str:
    primary = stated.replace("_", "-").partition("-")[0].strip().lower()
    return (primary if primary in STEMMERS else "other") if primary else USUAL_LANGUAGE


@cache
def _analyzer(language: str, has_stop_words: bool) -> tantivy.TextAnalyzer:
    return word_analyzer(language, has_stop_words=has_stop_words)


def _analyzed_words(text: str, language: str, has_stop_words: bool = True) -> Sequence[str]:
    words: Sequence[str] = _analyzer(language, has_stop_words).analyze(searched_form(text))
    return words


class Topic:
    """The words of a topic, each with its share. The shares add up to 1.

    lines: words, or texts of pages; each line counts the same. A page is compared in the language
    that it states.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = tuple(lines)
        self._shares = cache(self._weight_shares)
        self._of_words = lru_cache(MOST_LINKS)(self._cosine_similarity)

    def of_text(self, text: str, stated: str) -> float:
        """The similarity of a page's text to the topic, 0 to 1: the share of the topic's words that
        it contains. A repeated word counts more, and each word counts less in a longer text.

        stated: the page's language, like `de-AT`.
        """
        language = _stemmer_language(stated)
        shares = self._shares(language)
        words = _analyzed_words(text[:MOST_TEXT], language)
        counts = Counter(word for word in words if word in shares)
        damping = 0.5 + len(words) / USUAL_WORDS
        return sum(shares[word] * count / (count + damping) for word, count in counts.items())

    def of_link(self, anchor: str, url: str, stated: str) -> float:
        """The similarity of a link's own words to the topic, 0 to 1: the cosine for its anchor text
        or for its URL, whichever is greater.
        """
        language = _stemmer_language(stated)
        return max(self._of_words(anchor, language), self._of_words(_url_words(url), language))

    def _cosine_similarity(self, text: str, language: str) -> float:
        shares, words = self._shares(language), set(_analyzed_words(text, language))
        found = sum(shares.get(word, 0.0) for word in words)
        if not found:
            return 0.0
        return min(1.0, found / sqrt(len(words) * sum(one * one for one in shares.values())))

    def _weight_shares(self, language: str) -> Mapping[str, float]:
        total: defaultdict[str, float] = defaultdict(float)
        for line in self.lines:
            weights = _word_weights(line, language)
            whole = sum(weights.values())
            for word, weight in weights.items():
                total[word] += weight / whole
        kept = nlargest(MOST_WORDS, total.items(), key=itemgetter(1))
        whole = sum(weight for _, weight in kept)
        return {word: weight / whole for word, weight in kept}


def _word_weights(line: str, language: str) -> dict[str, float]:
    """The words of a line, with their weights. Stop words are left out unless there are no others.
    A repeated word counts by the logarithm of its number.
    """
    counts = Counter(_analyzed_words(line, language, False) or _analyzed_words(line, language))
    return {word: 1 + log(count) for word, count in counts.items()}


def _url_words(url: str) -> str:
    parts = urlsplit(url)
    return unquote(f"{parts.path} {parts.query}")[-200:].replace("_", " ")


def expected_similarity(page: float, foreseen: float, own: float) -> float:
    """The similarity that is expected of a link's target, 0 to 1: half from the page with the link,
    half from the link's own words.

    page: the similarity of the page's text. foreseen: the similarity that was expected of the page
    before it was fetched.
    """
    inherited = max(page, DECAY * foreseen)
    return INHERITED * inherited + (1 - INHERITED) * own

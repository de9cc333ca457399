"""Passages that texts share: the texts of two pages, or a supplied text and pages of a run.
Simhashes and the search index give candidates, which are then compared with the text word by word.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from crawling.base.errors import ArchiveTrouble, CrawlError
from crawling.base.timed import time_limit
from crawling.datasets.seen_text import seen_text
from crawling.datasets.text_diff import ByUniqueItems
from crawling.models import Page, Run
from crawling.uses.copies.results import PageWithText, Passage, SharedText
from crawling.uses.search.queries import QUOTE, QUOTES, BadQuery
from crawling.uses.search.search import SearchFilter, search_texts
from crawling.web.simhash import ALIKE_BITS, simhash

#: the least words of a shared passage
LEAST_WORDS = 5
#: the most words of a text that are compared; a longer text is cut
MOST_WORDS = 100_000
#: the most characters of a passage that are shown, at its beginning and its end
MOST_SHOWN = 1_500
#: the most pages that are compared, and the seconds after which no further comparison begins; a job
#: has 90 seconds
MOST_CANDIDATES, SECONDS = 20, 40.0
#: the number of passages of the text that are searched for, and the words of each
SEARCHED, WORDS_OF_EACH = 8, 5
LONGEST_QUERY_SECONDS = 20
ALIKE = """
SELECT url_id FROM crawling_page
WHERE run_id = %s AND bit_count((simhash # %s)::bit(64)) <= %s
ORDER BY bit_count((simhash # %s)::bit(64)), url_id LIMIT %s
"""


def compare_texts(one: str, other: str) -> SharedText:
    """The shared and different parts of two texts, without regard to case and blanks, in O(n log
    n).

    Shared passages have the same order in both texts; a passage elsewhere does not count as shared.
    """
    words = [text.split()[:MOST_WORDS] for text in (one, other)]
    passages, shared = [], 0
    for is_shared, (a, a_to), (b, b_to) in _parts_of_both(*words):
        shared += a_to - a if is_shared else 0
        texts = (_shortened_text(words[0][a:a_to]), _shortened_text(words[1][b:b_to]))
        passages.append(Passage(is_shared, *texts))
    return SharedText(2 * shared / max(1, sum(map(len, words))), shared, passages)


Span = tuple[int, int]


def _parts_of_both(one: Sequence[str], other: Sequence[str]) -> Iterator[tuple[bool, Span, Span]]:
    """Each part: whether both texts share it, and its beginning and end in each of them."""
    at_one = at_other = 0
    for a, b, size in _shared_blocks(one, other):
        overlap = max(0, at_one - a, at_other - b)
        a, b, size = a + overlap, b + overlap, size - overlap
        if size <= 0:
            continue
        if a > at_one or b > at_other:
            yield False, (at_one, a), (at_other, b)
        yield True, (a, a + size), (b, b + size)
        at_one, at_other = a + size, b + size
    if at_one < len(one) or at_other < len(other):
        yield False, (at_one, len(one)), (at_other, len(other))


def _shared_blocks(one: Sequence[str], other: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Shared passages: sequences of words in both texts, which may overlap at their ends."""
    matches = ByUniqueItems(_word_sequences(one), _word_sequences(other)).get_matching_blocks()
    return ((a, b, size + LEAST_WORDS - 1) for a, b, size in matches if size)


def _word_sequences(words: Sequence[str]) -> list[tuple[str, ...]]:
    """All sequences of LEAST_WORDS words, since single words repeat too often."""
    folded = [word.casefold() for word in words]
    return list(zip(*(folded[at:] for at in range(LEAST_WORDS)), strict=False))


def _shortened_text(words: Sequence[str]) -> str:
    text = " ".join(words)
    if len(text) <= MOST_SHOWN:
        return text
    half = MOST_SHOWN // 2
    return f"{text[:half]} … {text[-half:]}"


class TextSearchTookTooLong(CrawlError):
    """Looking for pages like the text took longer than 20 seconds; try a run of fewer pages."""


def find_pages(text: str, run: Run) -> list[PageWithText]:
    """Pages that share passages with a text, those with the most shared words first. Raises
    TextSearchTookTooLong.

    Only background jobs call this, since it reads foreign documents.
    """
    began, found = time.monotonic(), []
    ids = dict.fromkeys([*_similar_pages(text, run), *_pages_with_passages(text, run)])
    stored = Page.objects.select_related("url", "run__crawl", "archive_file").in_bulk(list(ids))
    for page in [stored[pk] for pk in ids if pk in stored][:MOST_CANDIDATES]:
        if time.monotonic() - began > SECONDS:
            break
        try:
            shared = compare_texts(text, text_of(page))
        except ArchiveTrouble:
            continue  # the page is not text, or its record is on another machine
        if shared.shared_words:
            amounts = shared.similarity, shared.shared_words
            found.append(PageWithText(page.pk, page.url.url, page.title[:200], *amounts))
    return sorted(found, key=lambda page: (-page.shared_words, page.id))


def text_of(page: Page) -> str:
    """The text of the page as a reader sees it. Raises ArchiveTrouble."""
    return seen_text(page).text


def _similar_pages(text: str, run: Run) -> list[int]:
    """Pages whose whole text is nearly the same as this text."""
    wanted = simhash(text)
    if wanted is None:
        return []
    with time_limit(LONGEST_QUERY_SECONDS, TextSearchTookTooLong) as cursor:
        cursor.execute(ALIKE, [run.pk, wanted, ALIKE_BITS, wanted, MOST_CANDIDATES])
        return [pk for (pk,) in cursor.fetchall()]


def _pages_with_passages(text: str, run: Run) -> list[int]:
    """Pages that contain one of several passages of the text, by the search index."""
    phrases = list(_sample_phrases(text.split()))
    wanted = SearchFilter(run.crawl_id, run.number)
    try:
        found = search_texts(" OR ".join(phrases), wanted, most=MOST_CANDIDATES)
    except BadQuery:
        return []  # the text contains no words
    return [hit.page.pk for hit in found.hits]


def _sample_phrases(words: Sequence[str]) -> Iterator[str]:
    """Sequences of words from evenly spread places of the text."""
    last = len(words) - WORDS_OF_EACH
    for number in range(min(SEARCHED, last + 1)):
        at = round(last * number / max(1, min(SEARCHED, last + 1) - 1))
        letters = " ".join(words[at : at + WORDS_OF_EACH]).translate(QUOTES).replace(QUOTE, " ")
        yield f'"{letters}"'


def answer_text(question: Mapping[str, Any]) -> dict[str, Any]:
    run = Run.objects.select_related("crawl").filter(pk=question["run"]).first()
    if run is None:
        raise CrawlError("The run was deleted meanwhile.")
    return {"pages": [asdict(page) for page in find_pages(question["text"], run)]}


def answer_passages(question: Mapping[str, Any]) -> dict[str, Any]:
    """Compare two pages, or a supplied text and a page, side by side."""
    wanted = [question["page"], *([question["other"]] if question["other"] else [])]
    stored = Page.objects.select_related("url", "run__crawl", "archive_file").in_bulk(wanted)
    if len(stored) < len(set(wanted)):
        raise ArchiveTrouble("One of the pages was deleted meanwhile.")
    other = text_of(stored[question["other"]]) if question["other"] else question["text"]
    return asdict(compare_texts(other, text_of(stored[question["page"]])))

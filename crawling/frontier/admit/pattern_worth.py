"""The worth of the pages of each pattern: pages of a trap hold nothing new."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeVar

from xxhash import xxh3_64_intdigest

from crawling.frontier.types import Candidate, ServerAnswer, UrlOutcome
from crawling.machine.eviction import forget_oldest
from crawling.orders.scope.trap_patterns import (
    FILTER,
    LATEST,
    LEAST_YIELD,
    ONE_TEXT,
    PROBE_PAGES,
    SUSPICIOUS_PROBE_PAGES,
    WIDE_REASONS,
    Pattern,
    list_address,
    patterns_by_parameter,
    query_values,
    site_pattern,
)
from crawling.web.addresses import Address, canonical_address
from crawling.web.content.text_facts import word_marks
from crawling.web.documents.written_links import shown_urls
from crawling.web.simhash import is_alike

K = TypeVar("K")
V = TypeVar("V")
#: the number of texts with which the next text is compared, and of patterns and lists that a shift
#: remembers
COMPARED = 64
MOST_PATTERNS = 5_000
MOST_LISTS = 64
#: the number of a list's pages by which its parameters are judged, and of its parameters that are
#: remembered
MOST_LIST_PAGES, MOST_PARAMETERS = 500, 200
#: Two yields that differ by less than this factor count as equal.
MUCH_THE_SAME = 1.5
#: the number of texts of pages that are remembered
MOST_TEXTS = 50_000
#: the number of images of a pattern's pages that are remembered: 50 MB for all patterns
MOST_SHOWN = 100
#: a pattern gets a row once a shift has fetched this many of its pages, a site once this many were
#: alike; most patterns have only one page
WATCHED_FROM = 5


class KnownTexts:
    """The latest new texts of some pages, and the images that these pages showed."""

    def __init__(self) -> None:
        self._simhashes: deque[int] = deque(maxlen=COMPARED)
        #: the texts that are too short for a simhash
        self._short: deque[bytes] = deque(maxlen=COMPARED)
        #: hashes of the addresses of images
        self._shown: dict[int, None] = {}

    def is_new_text(self, key: int | bytes) -> bool:
        """Whether no known text is similar to this text. The text is known from now on."""
        if isinstance(key, bytes):
            is_new = key not in self._short
            self._short += [key] if is_new else []
        else:
            is_new = not is_alike(key, self._simhashes)
            self._simhashes += [key] if is_new else []
        return is_new

    def has_new_images(self, shown: Collection[str]) -> bool:
        """Whether no page has shown one of these images. The images of the first page do not count,
        since all pages may show them.
        """
        is_first, before = not self._shown, len(self._shown)
        self._shown |= dict.fromkeys(map(xxh3_64_intdigest, map(str.encode, shown)))
        is_new = len(self._shown) > before and not is_first
        forget_oldest(self._shown, MOST_SHOWN)
        return is_new


class KnownMarks:
    """The words and parameters of a list's pages, as bits of a few hashes of each."""

    SIZE = 1 << 20

    def __init__(self) -> None:
        self._bits = bytearray(self.SIZE // 8)
        self._count = 0

    def has_new(self, marks: Collection[int]) -> bool:
        """Whether one of these marks is new. All of them are known from now on. In a list with very
        many words every page has a new one.
        """
        before = self._count
        for mark in marks:
            place, bit = divmod(mark % self.SIZE, 8)
            if not self._bits[place] >> bit & 1:
                self._bits[place] |= 1 << bit
                self._count += 1
        return self._count > before or self._count > self.SIZE // 4


@dataclass(eq=False)
class PatternWorth:
    pattern: Pattern
    texts: KnownTexts = field(default_factory=KnownTexts)
    #: for each of the latest pages, whether it led to more pages of its kind, and whether it
    #: brought anything new
    leads_on: deque[bool] = field(default_factory=lambda: deque(maxlen=LATEST))
    lately: deque[bool] = field(default_factory=lambda: deque(maxlen=PROBE_PAGES))
    #: the number of fetched pages that are not in the row yet
    fetched: int = 0
    fresh: int = 0
    is_row: bool = False
    #: whether the list's pages with this parameter bring nothing new
    is_vain: bool = False

    @property
    def probe_pages(self) -> int:
        """The number of pages of the pattern that are fetched before it is judged."""
        is_suspicious = self.pattern.rule and self.pattern.rule not in WIDE_REASONS
        return SUSPICIOUS_PROBE_PAGES if is_suspicious else PROBE_PAGES

    @property
    def is_growing(self) -> bool:
        return 2 * sum(self.leads_on) >= min(LATEST, self.probe_pages)

    @property
    def is_spent(self) -> bool:
        """Whether the latest pages have brought too little, even if earlier pages brought much."""
        sample = self.lately.maxlen or PROBE_PAGES
        is_sampled = len(self.lately) == sample
        return is_sampled and sum(self.lately) < LEAST_YIELD * sample and self.is_growing

    def is_poor(self, fetched: int, fresh: int) -> bool:
        """Whether `fetched` pages, `fresh` of them new, show that the pattern yields too little."""
        if self.pattern.rule == FILTER:
            return self.is_vain
        if self.is_spent or self.pattern.rule == ONE_TEXT:
            return self.is_spent
        return fetched >= self.probe_pages and fresh < LEAST_YIELD * fetched and self.is_growing

    def count(self, *, is_new: bool, leads_on: bool) -> None:
        self.leads_on.append(leads_on)
        self.lately.append(is_new)
        self.fetched += 1
        self.fresh += is_new
        if self.pattern.rule == ONE_TEXT:
            self.is_row |= self.fetched - self.fresh >= WATCHED_FROM
        elif self.pattern.rule != FILTER:
            self.is_row |= self.fetched >= WATCHED_FROM

    def reset_lately(self, pages: Sequence[ListPage]) -> None:
        """Set the latest pages of a parameter. Other parameters of its list were found to bring
        nothing, so half of a sample decides.
        """
        self.lately = deque((page.is_new for page in pages), maxlen=PROBE_PAGES // 2)
        self.leads_on = deque((page.leads_on for page in pages), maxlen=LATEST)


class ListPage(NamedTuple):
    """The facts about a page of a list: its parameters, whether it had a new item, image or word,
    whether it had anything new, and whether it linked to more of its list.
    """

    parameters: frozenset[int]
    brings: bool
    is_new: bool
    leads_on: bool


class KnownList:
    """Items, images and words of all pages of a list, and the parameters that add nothing new.
    Pages with such parameters do not count in the judgement of the others.
    """

    def __init__(self) -> None:
        self.texts, self.words, self.values = KnownTexts(), KnownMarks(), KnownMarks()
        self._pages: deque[ListPage] = deque(maxlen=MOST_LIST_PAGES)
        #: by the keys of parameters
        self._worths: dict[int, PatternWorth] = {}

    def count(self, patterns: Sequence[Pattern], page: ListPage) -> list[PatternWorth]:
        """Count a page with these parameters. Return their worths."""
        worths = [self._worth_of_parameter(pattern) for pattern in patterns]
        vain = [worth for worth in worths if worth.is_vain]
        for worth in vain or worths:
            worth.count(is_new=page.is_new, leads_on=page.leads_on)
        if not vain:
            self._pages.append(page)
            while any(worth.is_spent and not worth.is_vain for worth in worths):
                if not (worst := self._least_parameters()):
                    break
                self._drop_parameters(worst)
        return worths

    def _worth_of_parameter(self, pattern: Pattern) -> PatternWorth:
        return _latest_or_new(
            self._worths, pattern.key, lambda: PatternWorth(pattern), MOST_PARAMETERS
        )

    def _least_parameters(self) -> set[int]:
        """The parameters whose pages brought least: a parameter that narrows down a list brings
        less than one that the list needs. A parameter that all pages have is judged only once the
        list has no others. Empty while it is too soon to judge.
        """
        brought: dict[int, list[bool]] = {}
        for page in self._pages:
            for key in page.parameters:
                brought.setdefault(key, []).append(page.brings)
        some = {key: pages for key, pages in brought.items() if len(pages) < len(self._pages)}
        shares = {
            key: sum(pages) / len(pages)
            for key, pages in (some or brought).items()
            if len(pages) >= SUSPICIOUS_PROBE_PAGES
        }
        least = MUCH_THE_SAME * min(shares.values(), default=0.0)
        return {key for key, share in shares.items() if share <= least}

    def _drop_parameters(self, vain: set[int]) -> None:
        left = [page for page in self._pages if not vain & page.parameters]
        self._pages = deque(left, maxlen=MOST_LIST_PAGES)
        for key, worth in self._worths.items():
            if key in vain:
                worth.is_vain = worth.is_row = True
            elif not worth.is_vain:
                worth.reset_lately([page for page in left if key in page.parameters])


class FetchedPage:
    def __init__(self, outcome: UrlOutcome, answer: ServerAnswer, known: Collection[str]) -> None:
        self._outcome, self._known = outcome, known
        self.answer, self.key = answer, answer.text.key or b""
        self.is_copy = False

    @cached_property
    def address(self) -> Address:
        links = self._outcome.page_links
        return canonical_address(links.url if links else self.answer.final_url)

    @cached_property
    def shown(self) -> set[str]:
        links = self._outcome.page_links
        return shown_urls(links.written) if links else set()

    @cached_property
    def news(self) -> list[Candidate]:
        """The URLs to which this page is the first to lead. Held URLs are left out."""
        links = [link for link in self._outcome.links if link.is_link and not link.trap]
        return [link for link in links if link.address.url not in self._known]

    @cached_property
    def list_name(self) -> str:
        return list_address(self.address)

    @cached_property
    def links_to_list(self) -> list[bool]:
        """For each of these URLs, whether it belongs to the page's own list."""
        return [
            bool(self.list_name) and list_address(link.address) == self.list_name
            for link in self.news
        ]

    @cached_property
    def has_links_outside_pattern(self) -> bool:
        """Whether the page leads to URLs of its site outside its pattern and its list."""
        own, origin = self.answer.pattern, self.address.origin
        return any(
            link.address.origin == origin and not (is_listed or (own and link.pattern == own.key))
            for link, is_listed in zip(self.news, self.links_to_list, strict=True)
        )

    def has_new_links_of(self, pattern: Pattern) -> bool:
        links = (link for link in self._outcome.links if link.pattern == pattern.key)
        return any(link.address.url not in self._known for link in links)

    def has_new_content(self, texts: KnownTexts) -> bool:
        """Whether the page has text or images that no earlier page had."""
        return self.has_new_text(texts) or self.has_new_images(texts)

    def has_new_text(self, texts: KnownTexts) -> bool:
        return not self.is_copy and texts.is_new_text(self.key)

    def has_new_images(self, texts: KnownTexts) -> bool:
        return not self.is_copy and texts.has_new_images(self.shown)


class PatternWatch:
    """The watch of a shift on patterns: the latest MOST_PATTERNS patterns of which it has fetched
    pages.
    """

    def __init__(self) -> None:
        self._worths: dict[int, PatternWorth] = {}
        #: lists by the common part of their URLs
        self._lists: dict[str, KnownList] = {}
        #: simhashes of the latest pages of the run, in all patterns
        self._texts: dict[int, None] = {}
        #: the worths of pages whose batch is perhaps not committed yet, by the ids of their URLs
        self._counted: dict[int, list[PatternWorth]] = {}
        #: rows that a transaction has written and perhaps not committed yet
        self._written: list[PatternWorth] = []
        #: whether patterns were held whose links the shift may still admit
        self.has_held = False

    def count(
        self,
        outcome: UrlOutcome,
        originals: Mapping[bytes, int],
        known: Collection[str],
    ) -> list[PatternWorth]:
        """Count a page under its patterns if it was read. It counts once, even if its batch is
        tried again. known: URLs found again.
        """
        if (counted := self._counted.get(outcome.url_id)) is not None:
            return counted
        counted = self._counted[outcome.url_id] = []
        answer = outcome.answer
        if answer is None or answer.text.key is None:
            return counted
        page = FetchedPage(outcome, answer, known)
        page.is_copy = originals.get(answer.digest, outcome.url_id) != outcome.url_id
        counted += [self._site_worth(page), *self._list_worths(page)]
        if answer.pattern:
            counted.append(self._pattern_worth(page, answer.pattern))
        if answer.text.simhash is not None:
            self._texts[answer.text.simhash] = None
            forget_oldest(self._texts, MOST_TEXTS)
        return counted

    def note_written(self, worths: Collection[PatternWorth]) -> None:
        """Note that, once the transaction is committed, the rows count all pages of these
        patterns.
        """
        self._written = [*worths]

    def confirm(self, outcomes: Sequence[UrlOutcome]) -> None:
        """Note that the batch of these outcomes is committed."""
        for worth in self._written:
            worth.fetched = worth.fresh = 0
        self._written = []
        for outcome in outcomes:
            self._counted.pop(outcome.url_id, None)

    def _pattern_worth(self, page: FetchedPage, pattern: Pattern) -> PatternWorth:
        worth = self._worth_of_pattern(pattern)
        # in a suspicious pattern, a text like that of any other page counts as known, even if its
        # ids differ, and links to other pages are no sign of worth
        is_known = bool(pattern.rule) and page.answer.text.simhash in self._texts
        is_new = not is_known and page.has_new_content(worth.texts)
        is_new = is_new or (not pattern.rule and page.has_links_outside_pattern)
        worth.count(is_new=is_new, leads_on=page.has_new_links_of(pattern))
        return worth

    def _site_worth(self, page: FetchedPage) -> PatternWorth:
        worth = self._worth_of_pattern(site_pattern(page.address))
        worth.count(
            is_new=page.has_new_content(worth.texts), leads_on=page.has_links_outside_pattern
        )
        return worth

    def _list_worths(self, page: FetchedPage) -> list[PatternWorth]:
        """The worths of a list's page. A page is new if it has a link to an item, an image, a word,
        or a parameter's value in its text that no earlier page of the list had.
        """
        if not page.list_name:
            return []
        known = _latest_or_new(self._lists, page.list_name, KnownList, MOST_LISTS)
        has_new_word = known.words.has_new(page.answer.text.marks)
        has_new_value = known.values.has_new(word_marks(query_values(page.address)))
        says_new, shows_new = page.has_new_text(known.texts), page.has_new_images(known.texts)
        lists, patterns = page.links_to_list, patterns_by_parameter(page.address)
        brings = not all(lists) or shows_new or (says_new and has_new_word)
        is_new = brings or (says_new and has_new_value)
        keys = frozenset(pattern.key for pattern in patterns)
        return known.count(patterns, ListPage(keys, brings, is_new, any(lists)))

    def _worth_of_pattern(self, pattern: Pattern) -> PatternWorth:
        return _latest_or_new(
            self._worths, pattern.key, lambda: PatternWorth(pattern), MOST_PATTERNS
        )


def _latest_or_new(kept: dict[K, V], key: K, make: Callable[[], V], most: int) -> V:
    """The value kept under a key, or a new value. The latest `most` values are kept."""
    value = kept.pop(key, None) or make()
    kept[key] = value
    forget_oldest(kept, most)
    return value

"""A site whose pages change at known rates, appear and disappear, so that the expected findings are
known. It changes only when it is told that days pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.servers import Request, Site, serve_site

#: changes a day; a fifth of the pages has each rate
RATES = (0.01, 0.05, 0.2, 1.0, 3.0)
#: the share of the pages that appear later, and the share of the existing pages that disappears in
#: a day
SPARE, GONE_A_DAY = 0.05, 0.002
#: one page in this many counts its visitors
COUNTER = 40
PAGES_OF_A_SECTION = 100
#: the number of links from a page to others
LINKS = 4
WORDS = 80
HOME = "/"


class SiteState(NamedTuple):
    """The site at a moment: for each existing page, everything that its text depends on, and the
    paths that it links to.
    """

    texts: Mapping[str, object]
    links: Mapping[str, frozenset[str]]


def changes_between(old: SiteState, new: SiteState) -> set[tuple[str, str]]:
    """Pages with their changes, in the words of watches."""
    both = old.texts.keys() & new.texts.keys()
    return {
        *(("changed", path) for path in both if old.texts[path] != new.texts[path]),
        *(("gone", path) for path in old.texts.keys() - new.texts.keys()),
        *(("new", path) for path in new.texts.keys() - old.texts.keys()),
    }


def link_differences(old: SiteState, new: SiteState) -> set[tuple[str, str, str]]:
    """Pages, whether a link was added or removed, and its target."""
    found = set()
    for path in old.links.keys() | new.links.keys():
        before, now = old.links.get(path, frozenset()), new.links.get(path, frozenset())
        found |= {(path, "added", target) for target in now - before}
        found |= {(path, "removed", target) for target in before - now}
    return found


class ChangingSite:
    """The site. Pages have numbers from 0, and all arrays have an element for each page."""

    def __init__(self, pages: int, seed: int) -> None:
        self._chance = np.random.default_rng(seed)
        self.rates = np.resize(np.array(RATES), pages)
        self._chance.shuffle(self.rates)
        self.version = np.zeros(pages, np.int64)
        self.is_there = self._chance.random(pages) >= SPARE
        #: the pages with a link on the first page, which links to each existing page
        self._is_listed = self.is_there.copy()
        self._was_there = self.is_there.copy()
        self.paths = [_path(number, seed) for number in range(pages)]
        self._numbers = {path: number for number, path in enumerate(self.paths)}
        #: for each path, the version that was served last
        self.served: dict[str, int] = {}
        self._visitors = 0

    def pass_days(self, days: float) -> None:
        """Let pages change, appear and disappear. Half of the disappearing pages stay listed."""
        self.version += self._chance.poisson(self.rates * days)
        chance = self._chance.random(len(self.version))
        goes = self.is_there & (chance < GONE_A_DAY * days)
        comes = ~self._was_there & (chance < days / 10)
        self.is_there = (self.is_there & ~goes) | comes
        self._was_there |= comes
        keeps = goes & (self._chance.random(len(goes)) < 0.5)
        self._is_listed = (self._is_listed & (self.is_there | keeps)) | comes | keeps

    def state(self) -> SiteState:
        there = map(int, np.flatnonzero(self.is_there))
        listed = frozenset(self.paths[number] for number in np.flatnonzero(self._is_listed))
        texts: dict[str, object] = {HOME: listed}
        links = {HOME: listed}
        for number in there:
            texts[self.paths[number]] = int(self.version[number])
            links[self.paths[number]] = frozenset(self._links(number))
        return SiteState(texts, links)

    def counts_visitors(self, path: str) -> bool:
        """Whether the page shows a number that differs at each visit."""
        return path != HOME and self._numbers[path] % COUNTER == 0

    def stale(self) -> NDArray[np.bool_]:
        """For each existing page, whether its next visitor sees a different text than the last
        one.
        """
        there = [(self.paths[n], self.version[n]) for n in np.flatnonzero(self.is_there)]
        return np.array(
            [self.counts_visitors(path) or self.served.get(path) != its for path, its in there]
        )

    def _links(self, number: int) -> Iterator[str]:
        """The links of a page. The last one is different in each version."""
        for step in range(1, LINKS):
            yield self.paths[(number * 7 + step * step) % len(self.paths)]
        yield self.paths[(number * 11 + int(self.version[number])) % len(self.paths)]

    def answer(self, request: Request) -> tuple[int, dict[str, str], str]:
        path = request.path
        kind = {"Content-Type": "text/html; charset=utf-8"}
        if path == HOME:
            listed = np.flatnonzero(self._is_listed)
            return 200, kind, _document("The site", "", [self.paths[n] for n in listed])
        number = self._numbers.get(path)
        if number is None or not self.is_there[number]:
            return 404, {"Content-Type": "text/plain"}, "not here"
        version = int(self.version[number])
        self.served[path] = version
        self._visitors += 1
        words = [_word(number, version if place % 10 == 0 else 0, place) for place in range(WORDS)]
        visitors = f"<p>Visitors: {self._visitors}</p>" if self.counts_visitors(path) else ""
        text = f"<p>{' '.join(words)}</p>{visitors}"
        return 200, kind, _document(path, text, list(self._links(number)))


@contextmanager
def served_site(site: ChangingSite) -> Iterator[Site]:
    """Serve the site on loopback until the block ends."""
    with serve_site({}) as server:
        server.pages |= dict.fromkeys((HOME, *site.paths), site.answer)
        yield server


def _document(title: str, text: str, links: list[str]) -> str:
    listed = "".join(f'<li><a href="{link}">{link}</a></li>\n' for link in links)
    return f"<!DOCTYPE html><title>{title}</title>\n<h1>{title}</h1>\n{text}<ul>{listed}</ul>"


def _path(number: int, seed: int) -> str:
    """A path of letters only, since numbers would make patterns, which are judged as possible
    traps.
    """
    section = _word(seed, number // PAGES_OF_A_SECTION, -1)
    return f"/{section}/{_word(seed, number, -2)}"


def _word(*numbers: int) -> str:
    """Ten letters that are derived from numbers."""
    digest = blake2b(repr(numbers).encode(), digest_size=10).digest()
    return "".join(chr(ord("a") + byte % 26) for byte in digest)

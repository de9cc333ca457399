"""The directories of a run's sites: the number of URLs of each, their outcomes and sizes.

One query reads a bounded number of URLs. For a larger run it reads the URLs with the lowest
fingerprints, which are spread evenly over all sites; the numbers are then estimates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from crawling.models import Run, RunTotal, UrlState
from serving.downloads import Download, row_file

#: the most URLs of a run that are all counted, and the number of URLs that are read of a larger run
COUNTED, SAMPLED = 10_000, 5_000
#: the most directories that are shown, and that are shown inside each of them
SHOWN, SHOWN_INSIDE = 50, 12
URLS = """
SELECT found.url, found.state, page.bytes FROM (
    SELECT id, url, state FROM crawling_url WHERE run_id = %s ORDER BY fingerprint LIMIT %s
) AS found LEFT JOIN crawling_page AS page ON page.url_id = found.id
"""


@dataclass
class SiteDirectory:
    """A directory of a host, or a whole host, with its contents at any depth."""

    #: the path with the host in front, and a slash at the end: `example.org/manual/`
    path: str
    name: str
    urls: int = 0
    fetched: int = 0
    failed: int = 0
    #: the total size of the fetched documents
    bytes: int = 0
    inside: dict[str, SiteDirectory] = field(default_factory=dict)

    def add(self, state: str, size: int | None) -> None:
        self.urls += 1
        self.fetched += size is not None
        self.failed += state == UrlState.FAILED
        self.bytes += size or 0

    def enter(self, name: str) -> SiteDirectory:
        if name not in self.inside:
            self.inside[name] = SiteDirectory(f"{self.path}{name}/", name)
        return self.inside[name]

    def grow(self, factor: float) -> None:
        """Extrapolate the numbers from the URLs that were read to all URLs."""
        for name in ("urls", "fetched", "failed", "bytes"):
            setattr(self, name, round(getattr(self, name) * factor))
        for each in self.inside.values():
            each.grow(factor)

    @property
    def largest(self) -> Sequence[SiteDirectory]:
        """The directories in it, those with the most URLs first."""
        return sorted(self.inside.values(), key=lambda one: (-one.urls, one.name))

    @property
    def shown(self) -> Sequence[SiteDirectory]:
        return self.largest[:SHOWN_INSIDE]

    @property
    def more(self) -> int:
        return max(0, len(self.inside) - SHOWN_INSIDE)


@dataclass(frozen=True)
class SiteTree:
    """A directory of a run's sites, two levels deep."""

    #: the requested directory; its path is "" for all hosts
    root: SiteDirectory
    #: the number of URLs that were counted
    looked_at: int
    #: whether the run has more URLs than were counted
    is_estimate: bool

    @property
    def shown(self) -> Sequence[SiteDirectory]:
        return self.root.largest[:SHOWN]

    @property
    def more(self) -> int:
        return max(0, len(self.root.inside) - SHOWN)

    @property
    def ways_up(self) -> Sequence[tuple[str, str]]:
        """Name and path of the directory and of each directory above it, the host first."""
        parts = self.root.path.split("/")[:-1]
        return [(part, "/".join(parts[: i + 1]) + "/") for i, part in enumerate(parts)]


def site_tree(run: Run, path: str = "") -> SiteTree:
    """The directories below `path`, which is "" or ends with a slash."""
    known = RunTotal.objects.filter(run=run).values_list("discovered", flat=True).first() or 0
    is_estimate = known > COUNTED
    with connection.cursor() as cursor:
        cursor.execute(URLS, [run.pk, SAMPLED if is_estimate else COUNTED])
        rows = cursor.fetchall()
    root = _tree(rows, path)
    if is_estimate:
        root.grow(known / len(rows) if rows else 1.0)
    return SiteTree(root, len(rows), is_estimate)


def _tree(rows: Iterable[tuple[str, str, int | None]], path: str) -> SiteDirectory:
    root = SiteDirectory(path, path)
    for url, state, size in rows:
        place = directory_of(url)
        if not place.startswith(path):
            continue
        root.add(state, size)
        here = root
        for name in place[len(path) :].split("/", 2)[:2]:
            if name:
                here = here.enter(name)
                here.add(state, size)
    return root


def directory_of(url: str) -> str:
    """`example.org/manual/` of `https://example.org/manual/index.html?page=2`."""
    place = url.partition("://")[2].partition("?")[0]
    return place.rpartition("/")[0] + "/" if "/" in place else place + "/"


def tree_file(stem: str, tree: SiteTree) -> Download:
    return row_file(stem, "csv", map(directory_row, _all_directories(tree.root)))


def _all_directories(root: SiteDirectory) -> Iterator[SiteDirectory]:
    for one in root.largest:
        yield one
        yield from one.largest


def directory_row(one: SiteDirectory) -> dict[str, Any]:
    return {name: getattr(one, name) for name in ("path", "urls", "fetched", "failed", "bytes")}

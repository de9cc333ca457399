"""How long searches take, and how fast texts are indexed, in a database of its own on the server
that DATABASE_URL names. The texts are those of HTML files; if there are fewer files than pages,
later pages have the paragraphs of several of them mixed.

python -m benchmarks.dashboard.search [--pages 100000] [--texts /usr/share/doc/rust-doc/html]
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from django.conf import settings
from django.utils import timezone

from benchmarks.scene.database import database_of_pages
from benchmarks.scene.installation import run_of_pages
from benchmarks.scene.links import written_part
from benchmarks.timer import in_words, timed
from crawling.datasets.parquet import put_texts
from crawling.datasets.progress import unindexed_parts
from crawling.models import Page, Run
from crawling.uses.search.folder import index_folder
from crawling.uses.search.index import add_parts, writing
from crawling.uses.search.search import SearchFilter, search_texts
from crawling.web.document_stream import DocumentStream, new_spool
from crawling.web.documents.html_text import PageText, text_of
from crawling.web.documents.tree import parse_html

PAGES_OF_A_PART = 1_000
#: of a page that is mixed, characters taken from each of several texts
PIECE = 2_000
QUERIES = 300
KINDS = ("one word", "two words", "a phrase", "two of four words", "a common word and a host")
Row = tuple[Any, ...]


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--pages", type=int, default=100_000)
    reader.add_argument("--texts", type=Path, default=Path("/usr/share/doc/rust-doc/html"))
    asked = reader.parse_args()
    texts = read_texts(asked.texts, most=asked.pages)
    with database_of_pages(), tempfile.TemporaryDirectory() as folder:
        settings.ARCHIVE_DIR = Path(folder)
        run = run_of_pages(asked.pages)
        _tell_index(run, list(_rows(run, texts, asked.pages)))
        _tell_searches(texts)


def read_texts(folder: Path, *, most: int) -> list[PageText]:
    """What the second reading takes of each file, which it says the speed of."""
    texts, size, packed = list[PageText](), 0, 0
    with timed() as taken:
        for path in sorted(folder.rglob("*.html"))[:most]:
            html = path.read_bytes()
            packed += len(gzip.compress(html, 4)) if len(texts) % 20 == 0 else 0
            spool = new_spool()
            spool.write(html)
            text = text_of(parse_html(DocumentStream(spool, len(html)), None).document)
            spool.close()
            if text.text or text.around:
                texts.append(text)
                size += len(html)
    print(
        f"{len(texts):,} files, {size / 1e6:,.0f} MB (about {20 * packed / 1e6:,.0f} MB in WARC): "
        f"{1000 * taken.here / max(1, len(texts)):.2f} ms a page to read again"
    )
    return texts


def _rows(run: Run, texts: Sequence[PageText], pages: int) -> Iterator[Row]:
    dice = Random(1)  # noqa: S311 - no secret
    found = Page.objects.filter(run=run).order_by("pk").values_list("pk", "url__url")[:pages]
    for number, (pk, url) in enumerate(found):
        text = texts[number % len(texts)]
        words = text.text
        if number >= len(texts):  # no two pages are the same
            pieces = max(1, len(words) // PIECE)
            words = " ".join(_piece(dice, texts) for _ in range(pieces))
        facts = (pk, url, "text/html", 1_700_000_000 + number * 60, text.language or "en")
        yield (*facts, text.title, text.headings, words, text.around)


def _piece(dice: Random, texts: Sequence[PageText]) -> str:
    words = dice.choice(texts).text
    at = dice.randrange(max(1, len(words) - PIECE))
    return words[at : at + PIECE]


def _tell_index(run: Run, rows: Sequence[Row]) -> None:
    stored = 0
    for at in range(0, len(rows), PAGES_OF_A_PART):
        part = written_part(run.pk)
        part.read_at = timezone.now()
        stored += put_texts(part.texts_name, rows[at : at + PAGES_OF_A_PART])
        part.save()
    characters = sum(len(row[-1]) + len(row[-2]) for row in rows)
    with timed() as taken, writing() as index:
        add_parts(index, list(unindexed_parts()))
    size = sum(path.stat().st_size for path in index_folder().iterdir())
    print(
        f"{len(rows):,} pages, {characters / 1e6:,.0f} million characters; "
        f"texts {stored / 1e6:,.0f} MB\n"
        f"index {size / 1e6:,.0f} MB; {len(rows) / taken.clock:,.0f} pages/s ({taken.clock:.1f} s, "
        f"{taken.here:.1f} s of the processor)"
    )


def _queries(texts: Sequence[PageText], kind: str) -> Iterator[str]:
    dice = Random(kind)  # noqa: S311 - no secret
    for _ in range(QUERIES):
        words = [word for word in dice.choice(texts).text.split() if word.isalpha()] or ["the"]
        at = dice.randrange(len(words))
        if kind == "one word":
            yield words[at]
        elif kind == "two words":
            yield f"{words[at]} {dice.choice(words)}"
        elif kind == "a phrase":
            yield '"' + " ".join(words[at : at + 2]) + '"'
        elif kind == "two of four words":
            yield " ".join(f"{dice.choice(words)} OR {dice.choice(words)}" for _ in range(2))
        else:
            yield dice.choice(("the", "of", "a", "is", "rust"))


def _tell_searches(texts: Sequence[PageText]) -> None:
    """Each with counts and the rows of the best twenty pages from the database."""
    everything: list[float] = []
    for kind in KINDS:
        times, found = list[float](), 0
        for query in _queries(texts, kind):
            with timed() as taken:
                found += search_texts(query, SearchFilter()).count
            times.append(taken.clock)
        everything += times
        print(f"{kind:>28}: {in_words(times)}; {found / QUERIES:,.0f} pages found", flush=True)
    print(f"{'all':>28}: {in_words(everything)}")


if __name__ == "__main__":
    main()

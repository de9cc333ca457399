"""How long searches take, and how fast texts are indexed, in a database of its own on the server
that DATABASE_URL names. The texts are those of HTML files; if there are fewer files than pages,
later pages have the paragraphs of several of them mixed.

python -m benchmarks.dashboard.search [--pages 100000] [--texts /usr/share/doc/rust-doc/html]
"""

from __future__ import annotations

import argparse
import gzip
import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.scene.database import set_up_django

PAGES_OF_A_PART = 1_000
#: of a page that is mixed, characters taken from each of several texts
PIECE = 2_000
QUERIES = 300
KINDS = ("one word", "two words", "a phrase", "two of four words", "a common word and a host")


def main() -> None:
    from django.core.management import call_command

    from benchmarks.scene.database import empty_database
    from benchmarks.scene.installation import Size, fill
    from crawling.models import Run
    from crawling.uses.search.folder import index_folder

    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--pages", type=int, default=100_000)
    reader.add_argument("--texts", type=Path, default=Path("/usr/share/doc/rust-doc/html"))
    asked = reader.parse_args()
    texts = read_texts(asked.texts, most=asked.pages)
    with empty_database(), tempfile.TemporaryDirectory() as folder:
        from django.conf import settings

        settings.ARCHIVE_DIR = Path(folder)
        call_command("set_up")
        size = Size(crawls=20, live=2, pages=2 * asked.pages, hosts=500, rows=100, links=0)
        run = Run.objects.get(crawl=fill(size).crawl, is_latest=True)
        rows = list(_rows(run, texts, asked.pages))
        _tell_index(run, rows, index_folder())
        _tell_searches(texts)


def read_texts(folder: Path, *, most: int) -> list[Any]:
    """What the second reading takes of each file, which it says the speed of."""
    from crawling.web.document_stream import DocumentStream, new_spool
    from crawling.web.documents.html_text import text_of
    from crawling.web.documents.tree import parse_html

    texts: list[Any] = []
    size, packed, began = 0, 0, time.process_time()
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
    took = time.process_time() - began
    print(
        f"{len(texts):,} files, {size / 1e6:,.0f} MB (about {20 * packed / 1e6:,.0f} MB in WARC): "
        f"{1000 * took / max(1, len(texts)):.2f} ms a page to read again"
    )
    return texts


def _rows(run: Any, texts: Sequence[Any], pages: int) -> Iterator[tuple[Any, ...]]:
    from crawling.models import Page

    dice = random.Random(1)  # noqa: S311 - no secret
    found = Page.objects.filter(run=run).order_by("pk").values_list("pk", "url__url")[:pages]
    for number, (pk, url) in enumerate(found):
        text = texts[number % len(texts)]
        words, around = text.text, text.around
        if number >= len(texts):  # no two pages are the same
            pieces = max(1, len(words) // PIECE)
            words = " ".join(_piece(dice, texts) for _ in range(pieces))
        facts = (pk, url, "text/html", 1_700_000_000 + number * 60, text.language or "en")
        yield (*facts, text.title, text.headings, words, around)


def _piece(dice: random.Random, texts: Sequence[Any]) -> str:
    words = dice.choice(texts).text
    at = dice.randrange(max(1, len(words) - PIECE))
    return str(words[at : at + PIECE])


def _tell_index(run: Any, rows: Sequence[tuple[Any, ...]], folder: Path) -> None:
    from django.utils import timezone

    from crawling.base.storage import storage
    from crawling.datasets.parquet import put_texts
    from crawling.datasets.parts import new_part
    from crawling.datasets.progress import unindexed_parts
    from crawling.uses.search.index import add_parts, writing

    stored = 0
    for at in range(0, len(rows), PAGES_OF_A_PART):
        part = new_part(run.pk, None)
        now = timezone.now()
        part.collected_at = part.written_at = part.read_at = now
        stored += put_texts(part.texts_name, rows[at : at + PAGES_OF_A_PART])
        part.save()
    characters = sum(len(row[-1]) + len(row[-2]) for row in rows)
    print(
        f"{len(rows):,} pages, {characters / 1e6:,.0f} million characters; "
        f"texts {stored / 1e6:,.0f} MB"
    )
    began, used = time.monotonic(), time.process_time()
    with writing() as index:
        add_parts(index, list(unindexed_parts()))
    took, cpu = time.monotonic() - began, time.process_time() - used
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(
        f"index {size / 1e6:,.0f} MB; {len(rows) / took:,.0f} pages/s ({took:.1f} s, "
        f"{cpu:.1f} s of the processor)"
    )
    assert storage().list(folder.name)


def _queries(texts: Sequence[Any], kind: str) -> Iterator[str]:
    dice = random.Random(kind)  # noqa: S311 - no secret
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


def _tell_searches(texts: Sequence[Any]) -> None:
    """Each with counts and the rows of the best twenty pages from the database."""
    from crawling.uses.search.search import SearchFilter, search_texts

    everything: list[float] = []
    for kind in KINDS:
        times, found = [], 0
        for query in _queries(texts, kind):
            began = time.monotonic()
            found += search_texts(query, SearchFilter()).count
            times.append(1000 * (time.monotonic() - began))
        everything += times
        _tell(kind, times, found / len(times))
    _tell("all", everything, 0)


def _tell(name: str, times: Sequence[float], found: float) -> None:
    cuts = statistics.quantiles(times, n=20)
    print(
        f"{name:>28}: median {statistics.median(times):6.1f} ms, 95 % {cuts[-1]:6.1f}, "
        f"longest {max(times):6.1f}; {found:,.0f} pages found"
    )


if __name__ == "__main__":
    set_up_django()
    main()

"""The memory that a mirror takes does not grow with its documents, but for a few bytes of each in
the directory of the ZIP file.
"""

from __future__ import annotations

import gc
import tracemalloc
from copy import copy

import pytest

from crawling.models import Page, Run, Url
from crawling.uses.exports.mirror.packing import MirrorPackage
from crawling.web.addresses import fingerprint, signed_64_bits

FEW, MANY = 1_000, 6_000
#: what keeps something of each document if anything does
OWN = [tracemalloc.Filter(True, f"*/{name}.py") for name in ("zipfile", "mirror/*", "exports/*")]
#: caches of the libraries, once they are full
MOST_KEPT = 16 * 1024 * 1024


def multiply(run: Run, times: int) -> None:
    """Many pages whose document is that of the only one."""
    page = Page.objects.select_related("url").get(run=run, status=200)
    urls, pages = [], []
    for number in range(times):
        url = copy(page.url)
        url.pk, url.url = None, f"{page.url.url}section-{number % 50}/page-{number}.html"
        url.fingerprint = signed_64_bits(fingerprint(url.url))
        urls.append(url)
    for url in Url.objects.bulk_create(urls, batch_size=2_000):
        one = copy(page)
        one.url = url
        pages.append(one)
    Page.objects.bulk_create(pages, batch_size=2_000)


@pytest.mark.drill
@pytest.mark.timeout(1800)
def test_memory_is_bounded_whatever_the_number_of_documents(make_site, crawl_to_the_end):
    run = crawl_to_the_end(f"{make_site({'/': '<title>Home</title><a href=/x>x</a>'}).url}/")
    multiply(run, MANY)
    package = MirrorPackage(run, run.created_at, [run])

    kept, own = 0, 0

    for _ in package.pieces():
        if package.pages == FEW and not tracemalloc.is_tracing():
            tracemalloc.start()
        elif package.pages == MANY and not kept:
            gc.collect()  # rows of pages and URLs refer to each other
            kept = tracemalloc.get_traced_memory()[0]
            own = sum(one.size for one in tracemalloc.take_snapshot().filter_traces(OWN).traces)
            tracemalloc.stop()

    each = own / (MANY - FEW)
    print(f"{MANY:,} documents: {each:.0f} bytes each, {kept / 2**20:.1f} MiB in all")
    assert package.pages == MANY + 1
    assert each < 200  # `zipfile` alone keeps 577
    assert kept < MOST_KEPT

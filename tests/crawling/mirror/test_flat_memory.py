"""The memory that a mirror takes does not grow with its documents, but for a few bytes of each in
the directory of the ZIP file.
"""

from __future__ import annotations

import gc
from copy import copy

import pytest

from crawling.exports.rows import exported_runs
from crawling.mirror.packing import MirrorPackage
from crawling.models import Page, Run, Url
from crawling.models.datasets import ExportKind
from crawling.process.memory_limit import resident_bytes
from crawling.web.addresses import fingerprint, signed

FEW, MANY = 4_000, 24_000


def multiply(run: Run, times: int) -> None:
    """Many pages whose document is that of the only one."""
    page = Page.objects.select_related("url").get(run=run, status=200)
    urls, pages = [], []
    for number in range(times):
        url = copy(page.url)
        url.pk, url.url = None, f"{page.url.url}section-{number % 50}/page-{number}.html"
        url.fingerprint = signed(fingerprint(url.url))
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
    package = MirrorPackage(run, run.created_at, exported_runs(run, ExportKind.MIRROR))
    before = after_few = 0

    for _ in package.pieces():
        if not before:
            gc.collect()
            before = resident_bytes()
        if not after_few and package.pages >= FEW:
            gc.collect()
            after_few = resident_bytes()

    gc.collect()
    each = (resident_bytes() - after_few) / (MANY - FEW)
    first = (after_few - before) / 2**20
    print(f"{MANY:,} documents: {each:.0f} bytes each; the first {FEW:,} took {first:.1f} MiB")
    assert package.pages == MANY + 1
    assert each < 200

"""A page of which not all was read says so, in its row, on its pages and to programs."""

from __future__ import annotations

import gzip
import random

import pytest
from django.urls import reverse

from allocation.models import Request
from crawling.models import Page
from crawling.orders.fields import MIB
from crawling.web.documents.base import TruncationReason
from crawling.web.fetch.memory_budget import MemoryBudget
from crawling.web.packed_size import MOST_UNPACKED
from tests.crawling.pages import browser, soup
from tests.crawling.pipeline.test_crawl_path import links

XML = {"Content-Type": "application/xml"}
HTML = {"Content-Type": "text/html"}
MAP = gzip.compress(b"<urlset><url><loc>/x</loc></url></urlset>" + random.Random(1).randbytes(9000))
PLAIN = b"<p>the first text of many words</p>" * 30_000


@pytest.fixture
def run(make_site, crawl_to_the_end):
    site = make_site({"/": links("/whole", "/cut"), "/whole": "x", "/cut": (200, XML, MAP[:-4000])})
    return crawl_to_the_end(f"{site.url}/", batch_size=1)


def test_why_not_all_was_read_stands_in_its_row(run):
    unread = {page.url.url.rpartition("/")[2]: page.unread for page in run.pages.all()}

    assert unread == {"": "", "whole": "", "x": "", "cut": TruncationReason.BROKEN}


def test_pages_say_so_and_find_such_pages(run):
    viewer, cut = browser("viewer"), run.pages.get(unread=TruncationReason.BROKEN)
    listed = reverse("crawling:pages", args=[run.crawl_id])
    rows = soup(viewer.get(listed, {"unread": "1"})).select("table.fetched tbody tr")

    detail = reverse("crawling:page", args=[run.crawl_id, cut.pk])
    assert [row.find("a")["href"] for row in rows] == [detail]
    assert cut.url.url in rows[0].text
    assert TruncationReason.BROKEN.sentence in rows[0].text
    assert len(soup(viewer.get(listed)).select("table.fetched tbody tr")) == 4
    shown = viewer.get(detail)
    assert TruncationReason.BROKEN.sentence in shown.content.decode()


def test_a_packed_document_takes_room_for_what_is_unpacked_of_it(make_site, crawl_to_the_end):
    site = make_site({"/": (200, XML, MAP)})

    crawl_to_the_end(f"{site.url}/", claim={"fetch_slots": 2, "memory": 6})

    (stage,) = Request.objects.filter(kind="stage", amounts__3__gt=0)
    assert stage.amounts[3] == (MOST_UNPACKED + len(MAP) - MIB) // MIB + 1


def test_a_crawl_with_little_memory_reads_packed_documents_as_well(make_site, crawl_to_the_end):
    site = make_site({"/": (200, XML, MAP), "/x": "x"})

    run = crawl_to_the_end(f"{site.url}/", claim={"fetch_slots": 1, "memory": 1})

    assert run.pages.count() == 2


def test_a_stored_document_that_serves_again_takes_room_too(
    make_site, crawl_to_the_end, monkeypatch
):
    """From another crawl's archive, and from an earlier run's by "if it has changed"."""
    site = make_site({"/": (200, {**HTML, "ETag": '"1"'}, PLAIN)})
    first = crawl_to_the_end(f"{site.url}/")
    taken: list[int] = []
    admits = MemoryBudget.reserve
    monkeypatch.setattr(
        MemoryBudget, "reserve", lambda self, size: taken.append(size) or admits(self, size)
    )

    second = crawl_to_the_end(f"{site.url}/", name="second", reuse_seconds=600)

    assert second.pages.exclude(reused_from=None).count() == 1
    assert max(taken) == 2 * Page.objects.filter(run=first).latest("bytes").bytes


def test_a_stored_document_that_is_too_large_for_a_crawl_is_not_taken(make_site, crawl_to_the_end):
    site = make_site({"/": (200, HTML, PLAIN)})
    crawl_to_the_end(f"{site.url}/")

    second = crawl_to_the_end(
        f"{site.url}/", name="second", reuse_seconds=600, claim={"fetch_slots": 1, "memory": 2}
    )

    assert not second.pages.exclude(reused_from=None).exists()
    assert second.pages.get().status == 200


def test_who_has_a_piece_gets_a_larger_one_if_it_is_free():
    room = MemoryBudget(share=10, rest=100)

    assert room.reserve(50)
    assert room.reserve(110)
    assert not room.reserve(111)
    room.release()
    assert room.is_idle

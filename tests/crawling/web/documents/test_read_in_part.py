"""A page of which not all was read says so, in its row, on its pages and to programs."""

from __future__ import annotations

import gzip
import random

import pytest
from django.urls import reverse

from crawling.models import Run
from crawling.uses.link_check.link_check import list_problems
from crawling.uses.link_check.problem_kinds import ProblemKind
from crawling.web.documents.base import TruncationReason
from tests.crawling.fetching.pipeline.test_crawl_path import links
from tests.crawling.pages import browser, soup
from tests.crawling.web.documents.test_pdf import made

XML = {"Content-Type": "application/xml"}
MAP = gzip.compress(b"<urlset><url><loc>/x</loc></url></urlset>" + random.Random(1).randbytes(9000))


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    pages = {
        "/": links("/whole", "/cut", "/untyped", "/program"),
        "/whole": "x",
        "/cut": (200, XML, MAP[:-4000]),
        "/untyped": (200, {"Content-Type": "nothing", "Content-Encoding": "utf-8"}, links("/y")),
        "/program": (200, {"Content-Type": "application/x-sh"}, "#!/bin/sh"),
    }
    return crawl_once(f"{shared.serve(pages).url}/", batch_size=1)


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


def test_why_not_all_was_read_stands_in_its_row(run):
    unread = {page.url.url.rpartition("/")[2]: page.unread for page in run.pages.all()}

    whole = dict.fromkeys(["", "whole", "x", "untyped", "y"], "")
    assert unread == whole | {"cut": TruncationReason.BROKEN, "program": TruncationReason.TYPE}


def test_a_document_without_a_type_has_the_one_that_it_was_read_by(run):
    page = run.pages.get(url__url__endswith="/untyped")

    assert (page.content_type, page.unread) == ("text/html", "")
    assert "no coding that is known here" in page.url.error


def test_the_link_check_lists_what_was_not_read(run):
    found, _ = list_problems(run, ProblemKind.UNREAD, most=10)

    assert {problem.url.rpartition("/")[2]: problem.detail for problem in found} == {
        "cut": f"{TruncationReason.BROKEN.sentence} Its type is application/xml.",
        "program": f"{TruncationReason.TYPE.sentence} Its type is application/x-sh.",
    }


def test_pages_say_so_and_find_such_pages(run):
    viewer, cut = browser("viewer"), run.pages.get(unread=TruncationReason.BROKEN)
    program = run.pages.get(unread=TruncationReason.TYPE)
    listed = reverse("crawling:pages", args=[run.crawl_id])
    rows = soup(viewer.get(listed, {"unread": "1"})).select("table.fetched tbody tr")

    detail = reverse("crawling:page", args=[run.crawl_id, cut.pk])
    told = {row.find("a")["href"]: row.text for row in rows}
    assert set(told) == {detail, reverse("crawling:page", args=[run.crawl_id, program.pk])}
    assert cut.url.url in told[detail]
    assert TruncationReason.BROKEN.sentence in told[detail]
    assert len(soup(viewer.get(listed)).select("table.fetched tbody tr")) == 7
    shown = viewer.get(detail)
    assert TruncationReason.BROKEN.sentence in shown.content.decode()


def test_a_crawl_with_little_memory_reads_packed_documents_as_well(make_site, crawl_to_the_end):
    site = make_site({"/": (200, XML, MAP), "/x": "x"})

    run = crawl_to_the_end(f"{site.url}/", claim={"fetch_slots": 1, "memory": 1})

    assert run.pages.count() == 2


def test_with_too_little_memory_no_pdf_is_read(make_site, crawl_to_the_end):
    site = make_site({"/": (200, {"Content-Type": "application/pdf"}, made("http://a.test/"))})

    run = crawl_to_the_end(f"{site.url}/", claim={"fetch_slots": 2, "memory": 6})

    assert run.pages.get().unread == TruncationReason.NO_MEMORY

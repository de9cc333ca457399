"""PDF: links, title and author; and no file, however hostile, that keeps a fetch thread for
long."""

import threading
from contextlib import suppress
from dataclasses import replace
from io import BytesIO

import psutil
import pytest
from pypdf import PdfWriter
from pypdf.annotations import Link
from pypdf.generic import NameObject, TextStringObject

from crawling.web.document_stream import DocumentStream
from crawling.web.documents import pdf
from crawling.web.documents.base import Document, DocumentSource, TruncationReason
from crawling.web.documents.registry import read_document
from crawling.web.fetch.budgets import MemoryBudget

pytestmark = pytest.mark.slow
MIB = 1024 * 1024


def made(*addresses, title="A report", password=None):
    writer = PdfWriter()
    writer.add_blank_page(200, 200)
    for address in addresses:
        writer.add_annotation(0, Link(rect=(0, 0, 10, 10), url=address))
    writer.add_metadata({"/Title": title, "/Author": "A. Writer"})
    writer.root_object[NameObject("/Lang")] = TextStringObject("en")
    if password is not None:
        writer.encrypt(password)
    with BytesIO() as file:
        writer.write(file)
        return file.getvalue()


def document(body, **fields):
    url = "http://a.test/d/report.pdf"
    return read_document(DocumentSource(DocumentStream.of(body), url, "application/pdf", **fields))


def urls(body):
    return [address.url for address in document(body).links]


def test_a_pdf_leads_to_what_its_pages_link_to():
    body = made("http://a.test/x", "y.html#part", "mailto:me@a.test", "http://a.test/x")

    assert urls(body) == ["http://a.test/x", "http://a.test/d/y.html"]
    assert (document(body).title, document(body).metadata.author) == ("A report", "A. Writer")


def test_a_pdf_that_anyone_may_open_is_read_and_one_with_a_password_says_nothing():
    assert document(made("http://a.test/x", password="secret")) == Document(
        unread=TruncationReason.BROKEN
    )


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.99])
def test_a_broken_pdf_raises_nothing(share):
    body = made("http://a.test/x")

    assert set(urls(body[: int(share * len(body))])) <= {"http://a.test/x"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"%PDF-1.4",
        b"<html>",
        b"%PDF-1.4\n" + b"\xff" * 5000,
        b"%PDF-1.7\ntrailer<</Root 1 0 R>>\n1 0 obj<</Pages 1 0 R>>",
    ],
)
def test_what_is_no_pdf_says_nothing(body):
    assert replace(document(body), unread=None) == Document()


def test_a_program_that_takes_too_long_is_ended(monkeypatch):
    monkeypatch.setattr(pdf, "LONGEST_SECONDS", 0.01)

    assert document(made("http://a.test/x")) == Document(unread=TruncationReason.NO_TIME)


def test_a_larger_file_than_is_read_is_left_alone(monkeypatch):
    monkeypatch.setattr(pdf, "MOST_BYTES", 100)

    assert document(made("http://a.test/x")) == Document(unread=TruncationReason.SIZE)


def test_a_program_has_the_memory_that_was_granted_and_no_more():
    """Five thousand pages take 53 MiB beside 17 of code."""
    with BytesIO() as file:
        writer = PdfWriter()
        for _ in range(5000):
            writer.add_blank_page(200, 200)
        writer.write(file)
        body = file.getvalue()
    sizes, over = [0], threading.Event()
    watch = threading.Thread(target=look_at_programs, args=(over, sizes))
    watch.start()
    unread = document(body, memory=MemoryBudget(rest=32 * MIB, most=32 * MIB)).unread
    over.set()
    watch.join()

    assert (unread, 20 * MIB < max(sizes) < (32 + 20) * MIB) == (TruncationReason.NO_MEMORY, True)
    assert document(body).unread == TruncationReason.SIZE


def look_at_programs(over, sizes):
    """Collect the resident sizes of this process's programs that read PDF."""
    while not over.wait(0.01):
        for child in psutil.Process().children():
            with suppress(psutil.Error):
                if pdf.PROGRAM in " ".join(child.cmdline()):
                    sizes.append(child.memory_info().rss)

"""The facts about another crawler's answer, for the row of a page."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import Any

from xxhash import xxh3_64

from crawling.archive.decoded_documents import decoded_stream
from crawling.orders.claims import MOST_DOCUMENT_BYTES
from crawling.uses.imports.foreign_answers import ForeignAnswer
from crawling.web.addresses import BadUrl, read_address, signed_64_bits
from crawling.web.content.media_types import START_BYTES, document_type, stated_type
from crawling.web.content.text_facts import TextFacts
from crawling.web.document_stream import DocumentStream
from crawling.web.documents.base import Document, DocumentSource, TruncationReason
from crawling.web.documents.registry import read_document
from crawling.web.http_caching import read_date, read_etag
from crawling.web.statuses import is_redirect, is_success

UNKNOWN_ADDRESS = "0.0.0.0"  # noqa: S104  # the file does not say who answered


def facts_of_answer(answer: ForeignAnswer) -> dict[str, Any]:
    """The facts by the names of columns: all except the page's time and its place in the
    archive.
    """
    fields, status = answer.fields, answer.status
    said_type = answer.content_type if answer.kind == "resource" else ""
    stated = fields.get("content-type", said_type)
    charset = stated_type(stated).charset
    body = DocumentStream(answer.payload, answer.size)
    decoded = decoded_stream(body, fields.get("content-encoding", ""), MOST_DOCUMENT_BYTES)
    options = fields.get("x-content-type-options", "")
    content_type = document_type(stated, decoded.start(START_BYTES), options=options)
    fingerprint, digest = xxh3_64(), sha256()
    for piece in decoded.pieces():
        fingerprint.update(piece)
        digest.update(piece)
    is_content = len(decoded) > 0 and 200 <= status < 300
    document = Document()
    if is_content and is_success(status) and answer.about is None:
        read = DocumentStream(decoded.content, min(len(decoded), MOST_DOCUMENT_BYTES))
        source = DocumentSource(read, answer.address.url, content_type, charset or None)
        document = read_document(source)
        if len(read) < len(decoded) and (document.text or document.links):
            document = replace(document, unread=document.unread or TruncationReason.SIZE)
    modified = read_date(fields.get("last-modified", ""))
    said = {
        "status": status,
        "final_url": _redirect_target(answer, fields.get("location", "")),
        "content_type": content_type,
        "bytes": len(decoded),
        "fingerprint": signed_64_bits(fingerprint.intdigest()),
        "digest": "\\x" + digest.hexdigest() if is_content else None,
        "address": answer.server or UNKNOWN_ADDRESS,
        "last_modified": modified.isoformat() if modified else None,
        "etag": read_etag(fields.get("etag", "")),
        **_document_summary(document, charset),
    }
    decoded.close()
    return {
        name: _bounded_text(value) if isinstance(value, str) else value
        for name, value in said.items()
    }


def _document_summary(document: Document, charset: str) -> dict[str, Any]:
    metadata, text = document.metadata, TextFacts(document.text)
    return {
        "charset": document.charset or charset,
        "title": document.title,
        "author": metadata.author,
        "description": metadata.description,
        "abstract": text.abstract,
        "language": metadata.language,
        "canonical": metadata.canonical,
        "links": len(document.links),
        "simhash": text.simhash,
        "needs_browser": document.needs_browser,
        "unread": str(document.unread or ""),
    }


def _redirect_target(answer: ForeignAnswer, location: str) -> str:
    """A redirect's target. For other answers, the page's own URL."""
    if is_redirect(answer.status) and location:
        try:
            return read_address(location, answer.address.url).url
        except BadUrl:
            pass
    return answer.address.url


def _bounded_text(value: str) -> str:
    """The text as PostgreSQL can store it: without NUL and without lone surrogates."""
    return value.replace("\0", "").encode(errors="replace").decode()

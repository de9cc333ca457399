"""The method and body of requests, by which replay programs distinguish the answers of one URL to
methods other than GET (Request Body Canonicalization of Webrecorder).
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesParser
from typing import Any
from urllib.parse import unquote_plus, urlencode

from crawling.web.http_caching import read_head

MOST_BODY = 4096
METHOD = re.compile(rb"([A-Za-z]{1,20}+) ")
HEAD_END = re.compile(rb"\r?\n\r?\n")
#: the most values of a JSON body that are used
MOST_VALUES = 1000


@dataclass(frozen=True)
class AskedBy:
    #: the method; empty for GET, or if it is unknown
    method: str = ""
    body: str = ""


def request_of_record(request: bytes) -> AskedBy:
    found = METHOD.match(request)
    method = found[1].decode().upper() if found else "GET"
    if method == "GET":
        return AskedBy()
    if method not in ("POST", "PUT", "PATCH"):
        return AskedBy(method)
    end = HEAD_END.search(request)
    head, body = (request[: end.start()], request[end.end() :]) if end else (request, b"")
    kind = read_head(head.decode("latin-1")).get("content-type", "")
    text = _canonical_body(kind.strip(), body) if body else ""
    return AskedBy(method, text.replace("\0", "")[:MOST_BODY])


def _canonical_body(kind: str, body: bytes) -> str:
    small = kind.lower()
    try:
        if small.startswith("application/x-www-form-urlencoded"):
            return unquote_plus(body.decode())
        if small.startswith("multipart/"):
            return _multipart_values(kind, body)
        if small.startswith(("application/json", "text/plain")):
            return urlencode(dict(_distinct_names(_form_values(body.decode()))))
    except (ValueError, RecursionError, LookupError):
        pass
    return f"__wb_post_data={b64encode(body[:MOST_BODY]).decode()}"


def _multipart_values(kind: str, body: bytes) -> str:
    """Raises ValueError."""
    message = BytesParser().parsebytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
    parts = [part for part in message.walk() if not part.is_multipart()]
    if not message.is_multipart():
        raise ValueError("it has no parts")
    return urlencode([(_part_name(part), part.get_payload(decode=True) or b"") for part in parts])


def _part_name(part: Message) -> str:
    return str(part.get_param("name", "", header="content-disposition"))


def _form_values(text: str) -> list[tuple[str, str]]:
    """Raises ValueError."""
    try:
        documents = [json.loads(text)]
    except ValueError:
        documents = [json.loads(line) for line in text.splitlines() if line.strip()]
    values: list[tuple[str, str]] = []
    for document in documents:
        for pair in _json_leaves(document, ""):
            values.append(pair)
            if len(values) >= MOST_VALUES:
                return values
    return values


def _json_leaves(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _json_leaves(one, key)
    elif isinstance(value, list):
        for one in value:
            yield from _json_leaves(one, name)
    elif name:
        yield name, str(value)


def _distinct_names(values: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Distinguish repeated names: `a`, `a.2_`, `a.3_`."""
    counts: dict[str, int] = {}
    for name, value in values:
        counts[name] = counts.get(name, 0) + 1
        yield (name if counts[name] == 1 else f"{name}.{counts[name]}_"), value

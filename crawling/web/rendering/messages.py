"""Messages between a caller and its browser program: a line of JSON and blobs, in both directions.

The program may have been taken over by a hostile page. So its messages are text, numbers and bytes
of bounded size, and their reader makes no other objects of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from struct import Struct
from types import UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from crawling.web.rendering.types import Rendered, RenderedDocument

#: bytes of the JSON, and of all blobs
HEAD = Struct(">II")
LONGEST_JSON, LONGEST_BLOBS = 16 * 1024 * 1024, 256 * 1024 * 1024
#: a script may write half of a character, which UTF-8 does not know
ERRORS = "surrogatepass"
#: the parts of a rendered page that are sent as blobs
TEXTS, PICTURES = ("html", "text"), ("picture", "thumbnail")

Message = tuple[dict[str, Any], list[bytes]]
T = TypeVar("T")


class WrongMessageError(Exception):
    """The other side sent something that is no message."""


def pack(content: dict[str, Any], blobs: Sequence[bytes] = ()) -> bytes:
    head = json.dumps({**content, "sizes": [len(blob) for blob in blobs]}).encode()
    return b"".join((HEAD.pack(len(head), sum(map(len, blobs))), head, *blobs))


def sizes_in(head: bytes) -> tuple[int, int]:
    """The bytes of the JSON and of the blobs behind a head. Raises WrongMessageError."""
    size, rest = HEAD.unpack(head)
    if size > LONGEST_JSON or rest > LONGEST_BLOBS:
        raise WrongMessageError("a message is too long")
    return size, rest


def unpack(head: bytes, blobs: bytes) -> Message:
    """Raises WrongMessageError."""
    try:
        content = json.loads(head)
        sizes = content.pop("sizes")
        parts, begin = [], 0
        for size in sizes:
            parts.append(blobs[begin : begin + size])
            begin += size
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise WrongMessageError(str(error)) from error
    if begin != len(blobs):
        raise WrongMessageError("the sizes of a message are wrong")
    return content, parts


def packed_result(number: int, result: Rendered) -> bytes:
    values = asdict(result)
    blobs = [values["document"].pop(name).encode(errors=ERRORS) for name in TEXTS]
    blobs += [values.pop(name) for name in PICTURES]
    return pack({"kind": "rendered", "number": number, "values": values}, blobs)


def result_of(values: Any, blobs: list[bytes]) -> Rendered:
    """Raises WrongMessageError."""
    try:
        texts = [blob.decode(errors=ERRORS) for blob in blobs[: len(TEXTS)]]
        pictures = dict(zip(PICTURES, blobs[len(TEXTS) :], strict=True))
        known = values.pop("document")
        document = made(RenderedDocument, known, **dict(zip(TEXTS, texts, strict=True)))
        return made(Rendered, values, document=document, **pictures)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise WrongMessageError(str(error)) from error


def made(kind: type[T], values: Any, **named: Any) -> T:
    """An object of a data class of JSON's values, each of the type that its field has.

    Raises WrongMessageError.
    """
    hints = get_type_hints(kind)
    try:
        known = {key: _valued(hints[key], value) for key, value in values.items()}
        return kind(**known, **named)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise WrongMessageError(f"a {kind.__name__} is wrong: {error}") from error


def _valued(hint: Any, value: Any) -> Any:
    origin = get_origin(hint)
    if origin is UnionType:
        inner = next(part for part in get_args(hint) if part is not type(None))
        return None if value is None else _valued(inner, value)
    if origin in (list, tuple):
        return _sequence(origin, get_args(hint), value)
    if _is_data_class(hint):
        return made(hint, value)
    if hint is float and type(value) is int:
        return float(value)
    if hint in (str, int, float, bool):
        if type(value) is not hint:
            raise ValueError(f"{value!r:.40} is no {hint.__name__}")
        return value
    return cast("Callable[[Any], Any]", hint)(value)


def _sequence(origin: type, inner: tuple[Any, ...], value: Any) -> Any:
    if not isinstance(value, list):
        raise ValueError("a list is missing")
    if origin is tuple and inner[-1] is not Ellipsis:
        return tuple(_valued(hint, part) for hint, part in zip(inner, value, strict=True))
    return origin(_valued(inner[0], part) for part in value)


def _is_data_class(hint: Any) -> bool:
    try:
        return bool(fields(hint))
    except TypeError:
        return False

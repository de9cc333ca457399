"""Put a whole state into a link, and take it out again. Pure."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from dataclasses import dataclass
from typing import Any

from allocation.rules.banker import State, Vector
from allocation.whatif.sandbox import Sandbox

#: web servers commonly refuse a first line of more than 4,094 signs
MOST_SIGNS = 3_000
#: what the largest state unpacks to, with room to spare
MOST_UNPACKED = 2_000_000


class LinkTooLong(ValueError):
    """This state is too large for a link. Export it as a file, and send that."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


class BadLink(ValueError):
    """This link is damaged or was cut off.

    Ask its sender for the whole link, or for an exported file.
    """

    def __init__(self) -> None:
        super().__init__(self.__doc__)


@dataclass(frozen=True)
class SharedState:
    """What a link carries: a state, and the process and amounts of a request; an empty name and
    None without one.
    """

    sandbox: Sandbox
    process: str = ""
    request: Vector | None = None


def to_link(shared: SharedState) -> str:
    """The state as signs that may stand in a query string. Raises LinkTooLong."""
    one = shared.sandbox
    parts = [
        one.classes,
        one.state.available,
        one.processes,
        one.state.maximum,
        one.state.allocation,
        shared.process,
        shared.request,
    ]
    packed = zlib.compress(json.dumps(parts, separators=(",", ":")).encode(), 9)
    text = base64.urlsafe_b64encode(packed).decode().rstrip("=")
    if len(text) > MOST_SIGNS:
        raise LinkTooLong
    return text


def from_link(text: str) -> SharedState:
    """The state that `to_link` put there. Raises BadLink for anything else."""
    if len(text) > MOST_SIGNS:
        raise BadLink
    try:
        unpacker = zlib.decompressobj()
        plain = unpacker.decompress(
            base64.urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4)), MOST_UNPACKED
        )
        if not unpacker.eof:
            raise BadLink
        classes, available, processes, maximum, allocation, process, request = json.loads(plain)
        sandbox = Sandbox(
            _names(classes), _names(processes), State.from_arrays(available, maximum, allocation)
        )
        return SharedState(sandbox, *_asked(sandbox, process, request))
    except (ValueError, TypeError, RecursionError, binascii.Error, zlib.error) as error:
        raise BadLink from error


def _names(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("names are text")
    return tuple(values)


def _asked(sandbox: Sandbox, process: Any, request: Any) -> tuple[str, Vector | None]:
    if process != "" and process not in sandbox.processes:
        raise ValueError("no process has this name")
    if request is None:
        return process, None
    if len(request) != len(sandbox.classes):
        raise ValueError("one number for each class")
    return process, State.from_arrays(request, [], []).available

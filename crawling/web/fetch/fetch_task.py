"""What a fetcher of another scheme than HTTP is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from crawling.web.addresses import Address


@dataclass(frozen=True, slots=True)
class FetchTask:
    """One fetch. `dial` is the vetted address of a scheme that goes to a host; `may_dial` says of
    another port there whether it is one.

    secret: user:password of the order for the host, or empty. directories: those that
    administrators allow. received: is told each piece's size, and may wait. is_cut: whether
    everything is to end.
    """

    address: Address
    dial: str
    max_bytes: int
    received: Callable[[int], None]
    may_dial: Callable[[int], bool]
    connect_seconds: float
    read_seconds: float
    document_seconds: float
    secret: str = ""
    directories: Sequence[str] = ()
    is_cut: Callable[[], bool] = lambda: False

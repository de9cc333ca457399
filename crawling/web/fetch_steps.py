"""What a toe may be doing, in an operator's words."""

from __future__ import annotations

from enum import StrEnum


class FetchStep(StrEnum):
    """The steps of a toe thread (SEEDS B11)."""

    WAITING_FOR_HOST = "waiting for a host's turn"
    CONNECTING = "connecting"
    FETCHING = "waiting for the answer"
    READING = "reading the answer"
    WAITING_FOR_BANDWIDTH = "waiting for bandwidth"
    WAITING_FOR_MEMORY = "waiting for memory"
    EXTRACTING = "extracting"
    ARCHIVING = "handing over to the archive"

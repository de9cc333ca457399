"""May an answer that one crawl was given serve another?

As a shared cache would decide (RFC 9111, sections 3 and 4.1).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

#: of Cache-Control: for nobody else, or not without asking the server first
FORBIDDING = frozenset({"no-store", "no-cache", "private", "must-revalidate"})
#: what every crawl sends alike; an answer that varies by anything else may be another one's alone
SENT_ALIKE = frozenset({"accept", "accept-encoding"})
#: who sends one of these may be given what others are not
PERSONAL = re.compile(
    rb"^(?:cookie|authorization|proxy-authorization)[ \t]*:", re.IGNORECASE | re.MULTILINE
)


def may_be_reused(answer: Mapping[str, str], request: bytes) -> bool:
    """Whether nothing in the answer's headers or the request speaks against it.

    That it is fresh is the caller's to see.

    `must-revalidate` forbids only what is stale, which an answer without a stated age may be: it is
    taken at its strictest.
    """
    control = {
        part.partition("=")[0].strip().lower()
        for part in answer.get("Cache-Control", "").split(",")
    }
    varies = {part.strip().lower() for part in answer.get("Vary", "").split(",") if part.strip()}
    is_personal = "Set-Cookie" in answer or PERSONAL.search(request) is not None
    return not (
        control & FORBIDDING
        or varies - SENT_ALIKE
        or is_personal
        or "no-cache" in answer.get("Pragma", "").lower()
    )

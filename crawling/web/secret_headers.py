"""How secrets look where they may not be seen."""

from __future__ import annotations

import re
from collections.abc import Set

MASK = "•••"
#: in archives, which are bytes
HIDDEN = b"(not kept)"
#: never kept, whoever set them
SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie"})
#: of answers: who has their values is taken for the crawl
SET_COOKIE = frozenset({"set-cookie", "set-cookie2"})
PASSWORD = re.compile(r"(?<=//)([^/@:]*):[^/@]*@")


def masked_url(url: str) -> str:
    """A URL without its password."""
    return PASSWORD.sub(rf"\1:{MASK}@", url)


def masked_head(head: str) -> str:
    """The head of an answer without the values of cookies, those in folded lines among them."""
    shown: list[str] = []
    is_cookie = False
    for line in head.splitlines(keepends=True):
        if not line.startswith((" ", "\t")):
            name, mark, value = line.partition(":")
            is_cookie = bool(mark) and name.strip().lower() in SET_COOKIE
            end = value[len(value.rstrip("\r\n")) :]
            shown.append(f"{name}: {MASK}{end}" if is_cookie else line)
        elif not is_cookie:
            shown.append(line)
    return "".join(shown)


def masked_request(request: bytes, names: Set[str]) -> bytes:
    """A request as it was sent, but for the values of secret headers, those of `names` (in small
    letters) among them.
    """
    head, end, body = request.partition(b"\r\n\r\n")
    lines = [_masked_line(line, names | SECRET_HEADERS) for line in head.split(b"\r\n")]
    return b"\r\n".join(lines) + end + body


def _masked_line(line: bytes, names: Set[str]) -> bytes:
    name, mark, _ = line.partition(b":")
    return name + b": " + HIDDEN if mark and name.decode("latin-1").lower() in names else line

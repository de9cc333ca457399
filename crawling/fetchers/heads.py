"""The head of an answer, read as http.client reads it, but in a fraction of the time."""

from __future__ import annotations

import email.parser
import re
from collections.abc import Sequence
from http import HTTPStatus
from http.client import BadStatusLine, HTTPException, HTTPMessage, HTTPResponse, LineTooLong, RemoteDisconnected, UnknownProtocol

from urllib3 import HTTPHeaderDict

#: what http.client allows a line, and a head
LONGEST_LINE = 65_536
MOST_LINES = 100
ENDS = (b"\r\n", b"\n", b"")
#: a field on a line of its own that every parser takes for the same
PLAIN = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]++):[ \t]*+([\t !-~]*+)\r\n")
#: what no value may have (RFC 9110, section 5.5): it would break the header that says it again, a cookie's for one
DANGEROUS = re.compile(r"[\r\n][\r\n \t]*|\0")
BODILESS = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)


def read_fields(lines: Sequence[bytes]) -> HTTPHeaderDict:
    """The fields of a head from its lines, the empty one at its end included.

    Nearly every head has one plain field on each line. For any other the library's parser of mail is asked, which knows what servers get
    wrong, and takes ten times as long.
    """
    fields = HTTPHeaderDict()
    for line in lines:
        if match := PLAIN.fullmatch(line):
            name, value = match.groups()
            fields.add(name.decode(), value.decode())
        elif line != b"\r\n":
            parsed = email.parser.Parser(_class=HTTPMessage).parsestr(b"".join(lines).decode("latin-1"))
            return HTTPHeaderDict((name, DANGEROUS.sub(" ", value)) for name, value in parsed.items())
    return fields


class Answer(HTTPResponse):
    """http.client's for GET and POST, but for `begin`, which keeps the head as it came, and looks past every interim answer."""

    head_bytes = b""
    headers: HTTPHeaderDict  # type: ignore[assignment]

    def begin(self) -> None:
        version, self.status, reason = self._read_head()
        while 100 <= self.status < 200 and self.status != HTTPStatus.SWITCHING_PROTOCOLS:
            version, self.status, reason = self._read_head()
        if version != "HTTP/0.9" and not version.startswith("HTTP/1."):
            raise UnknownProtocol(version)
        self.reason = reason.strip()
        self.version = 10 if version in ("HTTP/1.0", "HTTP/0.9") else 11
        self.chunked = "chunked" in self._listed("Transfer-Encoding")
        if self.chunked:
            self.chunk_left = None
        self.will_close = self._check_close() or self.status == HTTPStatus.SWITCHING_PROTOCOLS  # type: ignore[attr-defined]
        self.length = 0 if self.status in BODILESS or self.status < 200 else self._stated_length()
        if self.length is None and not self.chunked:
            self.will_close = True

    def _read_head(self) -> tuple[str, int, str]:
        """Version, status and reason; the fields are in `headers`."""
        first = self._read_line()
        if not first:
            raise RemoteDisconnected("the server hung up without an answer")
        version, status, reason = _read_status(first.decode("latin-1"))
        lines: list[bytes] = []
        while not lines or lines[-1] not in ENDS:
            lines.append(self._read_line())
            if len(lines) > MOST_LINES:
                raise HTTPException(f"got more than {MOST_LINES} headers")
        self.head_bytes, self.headers = b"".join((first, *lines)), read_fields(lines)
        return version, status, reason

    def _read_line(self) -> bytes:
        line = self.fp.readline(LONGEST_LINE + 1)
        if len(line) > LONGEST_LINE:
            raise LineTooLong("header line")
        return line

    def _stated_length(self) -> int | None:
        """None: it is not stated, or is nonsense. The same length may be stated twice (RFC 9110, section 8.6)."""
        try:
            lengths = {int(stated) for stated in self._listed("Content-Length")} if not self.chunked else set()
        except ValueError:
            return None
        if len(lengths) > 1:
            raise HTTPException("it states several lengths")
        length = next(iter(lengths), -1)
        return length if length >= 0 else None

    def _listed(self, name: str) -> set[str]:
        """The values of a field, in small letters."""
        return {value.strip() for value in self.headers[name].lower().split(",")} if name in self.headers else set()


def _read_status(line: str) -> tuple[str, int, str]:
    version, status, reason = (*line.split(None, 2), "", "", "")[:3]
    if not version.startswith("HTTP/"):
        raise BadStatusLine(line)
    try:
        code = int(status)
    except ValueError as error:
        raise BadStatusLine(line) from error
    if not 100 <= code <= 999:
        raise BadStatusLine(line)
    return version, code, reason

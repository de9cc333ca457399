"""Fetch `ftp:` URLs: files, and directories as pages of links (RFC 959, RFC 3659). Passive only, and only to the vetted address."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from email.utils import format_datetime
from ftplib import FTP, Error, error_perm, error_proto, error_temp
from mimetypes import guess_type
from typing import Any
from urllib.parse import unquote_to_bytes

from crawling.fetchers.decoding import PIECE_BYTES
from crawling.fetchers.http import Fetched
from crawling.fetchers.listing import HEADERS, as_page
from crawling.fetchers.task import Task
from crawling.rules.statuses import FetchStatus

#: what FTP says -> what HTTP would have said; any other refusal is 403, any other trouble 503
AS_HTTP = {"530": 401, "532": 401, "550": 404, "553": 404, "500": 501, "502": 501, "504": 501}


class _TooBig(Exception):
    """The document is larger than may be taken."""


class _Refused(OSError):
    """The server wants its data fetched from where we must not connect to."""


class _Connection(FTP):
    """Data comes from the address that was vetted, whatever the server names, and only from a port that may be connected to."""

    def __init__(self, task: Task) -> None:
        super().__init__(timeout=task.connect_seconds, encoding="latin-1")  # names are bytes; latin-1 keeps each as it is
        self._task, self._until = task, time.monotonic() + task.document_seconds

    def makepasv(self) -> tuple[str, int]:
        _, port = super().makepasv()
        if not self._task.may_dial(port):
            raise _Refused(f"the server names port {port} for its data, which may not be connected to")
        return self._task.dial, port

    def read(self, command: str) -> bytes:
        """What a command sends, as long as it is neither too much nor too slow."""
        pieces: list[bytes] = []
        total = 0
        with closing(self.transfercmd(command)) as data:
            data.settimeout(self._task.read_seconds)
            while piece := data.recv(PIECE_BYTES):
                pieces.append(piece)
                total += len(piece)
                self._task.received(len(piece))
                if total > self._task.max_bytes:
                    raise _TooBig
                if time.monotonic() > self._until:
                    raise TimeoutError("the whole document took too long")
        self.voidresp()
        return b"".join(pieces)


def fetch_ftp(task: Task) -> Fetched:
    """Fetch a file or a directory from a vetted address. Never raises for what a server does."""
    started = time.monotonic()
    found = _fetch(task)
    return Fetched(found.status, found.headers, found.body, time.monotonic() - started, found.error, max(0, found.status))


def _fetch(task: Task) -> Fetched:
    path = unquote_to_bytes(task.address.target.partition("?")[0]).decode("latin-1")
    connection = _Connection(task)
    try:
        connection.connect(task.dial, task.address.port)
        assert connection.sock is not None
        connection.sock.settimeout(task.read_seconds)
        user, _, password = task.secret.partition(":")
        connection.login(*((_wire(user), _wire(password)) if user else ()))
        connection.voidcmd("TYPE I")
        return _directory(connection, path) if path.endswith("/") else _file(connection, task, path)
    except _TooBig:
        status, error = FetchStatus.TOO_BIG, FetchStatus.TOO_BIG.sentence
    except (error_perm, error_temp) as refusal:
        said = str(refusal)
        return Fetched(AS_HTTP.get(said[:3], 503 if isinstance(refusal, error_temp) else 403), error=_text(f"The server says: {said}"))
    except TimeoutError as trouble:
        status, error = FetchStatus.TIMED_OUT, str(trouble)
    except _Refused as refusal:
        status, error = FetchStatus.ADDRESS_REFUSED, str(refusal)
    except OSError as trouble:
        status, error = FetchStatus.CONNECT_FAILED if connection.sock is None else FetchStatus.BROKEN_ANSWER, str(trouble)
    except (Error, error_proto, EOFError, ValueError) as trouble:  # ValueError: a name that would be two lines
        status, error = FetchStatus.BROKEN_ANSWER, str(trouble)
    finally:
        connection.close()
    return Fetched(status, error=_text(error or status.sentence))


def _file(connection: _Connection, task: Task, path: str) -> Fetched:
    headers = {"Content-Type": _type(path)}
    try:
        body = connection.read(f"RETR {path}")
    except error_perm:
        connection.cwd(path)  # not a file: a directory, or it raises what the server says
        return Fetched(301, {"Location": f"{task.address.url.partition('?')[0]}/"})
    if changed := _changed_at(connection, path):
        headers["Last-Modified"] = format_datetime(changed, usegmt=True)
    return Fetched(200, headers, body)


def _directory(connection: _Connection, path: str) -> Fetched:
    connection.cwd(path)
    try:
        entries = list(_facts(connection.read("MLSD")))
    except error_perm:  # a server of before 2007; what turns out to be a directory then is one on a second look
        names = connection.read("NLST").splitlines()
        entries = [(name.rpartition(b"/")[2], False) for name in names]
    return Fetched(200, HEADERS, as_page(path.encode("latin-1"), [entry for entry in entries if entry[0] not in (b"", b".", b"..")]))


def _facts(listing: bytes) -> Iterator[tuple[bytes, bool]]:
    for line in listing.splitlines():
        facts, blank, name = line.partition(b" ")
        kind = next((fact[5:] for fact in facts.lower().split(b";") if fact.startswith(b"type=")), b"file")
        if blank and kind in (b"file", b"dir"):
            yield name, kind == b"dir"


def _changed_at(connection: _Connection, path: str) -> datetime | None:
    try:
        said = connection.sendcmd(f"MDTM {path}").split()
        return datetime.strptime(said[1][:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except (Error, ValueError, IndexError):  # it need not know
        return None


def _type(path: str) -> str:
    kind, coding = guess_type(path)
    return "application/octet-stream" if coding or not kind else kind


def _wire(text: str) -> str:
    """A name or password in UTF-8, as the connection spells bytes."""
    return text.encode().decode("latin-1")


def _text(text: Any) -> str:
    return str(text)[:500].replace("\0", "")

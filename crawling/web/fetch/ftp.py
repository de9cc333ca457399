"""Fetch `ftp:` URLs by libcurl: files, and directories as pages of links (RFC 959, RFC 3659).

Connects to the vetted address only.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from email.utils import formatdate
from ipaddress import ip_address
from urllib.parse import unquote_to_bytes

import pycurl
from requests.exceptions import RequestException, Timeout

from crawling.web.addresses import bracketed_host
from crawling.web.document_stream import DocumentStream
from crawling.web.fetch.connections import new_handle
from crawling.web.fetch.http import Fetched, failed_fetch
from crawling.web.fetch.scheme_task import HEADERS, FetchTask, guessed_type, listing_page
from crawling.web.fetch.transfer import Transfer, TransferLimits
from crawling.web.fetch.transfer_errors import ForbiddenConnect
from crawling.web.statuses import FetchStatus

DEFAULT_PORT = 21
#: the most bytes of all replies, not counting the fetched file
MOST_REPLY_BYTES = 512 * 1024
#: the most bytes of a line in a directory listing: facts and a name
LONGEST_LINE = 16 * 1024
#: FTP replies -> HTTP statuses; any other refusal is 403, any other fault 503
AS_HTTP = {530: 401, 532: 401, 550: 404, 553: 404, 500: 501, 502: 501, 504: 501}


class _Refusal(Exception):
    """The server sent no document. `status` is HTTP's equivalent, or a negative one of ours."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why[:500].replace("\0", ""))
        self.status = status


class _Session(Transfer):
    """A session with the server. `head.status` is the code of the last reply, `said` the reply
    itself.
    """

    said = ""

    def _process_line(self, line: bytes) -> None:
        self.said = line.decode("latin-1").strip()
        code = self.said[:3]
        self.head.status = int(code) if code.isdecimal() else self.head.status or 1

    def _has_whole_answer_in_head(self) -> bool:
        """Always false: a reply code is no HTTP status, so the body always counts."""
        return False


def fetch(task: FetchTask) -> Fetched:
    """Fetch a file or a directory from a vetted address. Never raises because of a server."""
    started = time.monotonic()
    path = task.address.target.partition("?")[0]
    try:
        with closing(_ftp_handle(task, path)) as curl:
            found = (
                _fetch_directory(curl, task, path)
                if path.endswith("/")
                else _fetch_file(curl, task, path)
            )
    except _Refusal as refusal:
        found = Fetched(refusal.status, error=str(refusal))
    except RequestException as fault:
        found = failed_fetch(fault, 0.0)
    seconds = time.monotonic() - started
    return replace(found, seconds=seconds, http_status=max(0, found.status))


def _ftp_handle(task: FetchTask, path: str) -> pycurl.Curl:
    curl = new_handle()
    curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_FTP)
    # an escaped slash makes the path absolute
    curl.setopt(pycurl.URL, _ftp_url(task, path.replace("/", "/%2F", 1)))
    curl.setopt(pycurl.CONNECTTIMEOUT_MS, round(1000 * task.connect_seconds))
    curl.setopt(pycurl.FTP_RESPONSE_TIMEOUT, math.ceil(task.read_seconds))
    curl.setopt(
        pycurl.FTP_FILEMETHOD,
        pycurl.FTPMETHOD_SINGLECWD if path.endswith("/") else pycurl.FTPMETHOD_NOCWD,
    )
    curl.setopt(pycurl.OPT_FILETIME, 1)
    user, _, password = task.secret.partition(":")
    if user:
        curl.setopt(pycurl.USERNAME, user.encode())
        curl.setopt(pycurl.PASSWORD, password.encode())
    return curl


def _ftp_url(task: FetchTask, path: str) -> str:
    return f"ftp://{bracketed_host(task.dial)}:{task.address.port}{path or '/'}"


def _download_file(curl: pycurl.Curl, task: FetchTask) -> DocumentStream:
    """The file that the server sends. Raises _Refusal and requests' exceptions."""
    limits = TransferLimits(
        task.document_seconds,
        task.max_bytes + MOST_REPLY_BYTES,
        task.read_seconds,
        task.read_seconds,
        task.max_bytes,
    )
    dial = str(ip_address(task.dial))
    session = _Session(
        limits,
        may_dial=lambda address, port: (
            address == dial and (port == task.address.port or task.may_dial(port))
        ),
        received=task.received,
        is_cut=task.is_cut,
    )
    with ExitStack() as faulty:
        faulty.callback(session.body.close)
        try:
            session.run(curl)
        except RequestException as fault:
            code = session.head.status
            if code < 400 or isinstance(fault, (Timeout, ForbiddenConnect)):
                raise
            status = AS_HTTP.get(code, 503 if code < 500 else 403)
            raise _Refusal(status, f"The server says: {session.said}") from None
        if session.body.tell() > task.max_bytes:
            raise _Refusal(FetchStatus.TOO_BIG, FetchStatus.TOO_BIG.sentence)
        faulty.pop_all()
    return DocumentStream(session.body, session.body.tell())


def _fetch_file(curl: pycurl.Curl, task: FetchTask, path: str) -> Fetched:
    try:
        body = _download_file(curl, task)
    except _Refusal as refusal:
        if refusal.status != 404:
            raise
        curl.setopt(pycurl.URL, _ftp_url(task, ""))
        curl.setopt(pycurl.QUOTE, [b"CWD " + unquote_to_bytes(path)])
        curl.setopt(pycurl.NOBODY, 1)
        try:
            # raises the server's refusal unless the path is a directory
            _download_file(curl, task).close()
        except _Refusal:
            raise refusal from None
        return Fetched(301, {"Location": f"{task.address.url.partition('?')[0]}/"})
    headers = {"Content-Type": guessed_type(path)}
    if (changed := curl.getinfo(pycurl.INFO_FILETIME)) >= 0:
        headers["Last-Modified"] = formatdate(changed, usegmt=True)
    return Fetched(200, headers, body)


def _fetch_directory(curl: pycurl.Curl, task: FetchTask, path: str) -> Fetched:
    curl.setopt(pycurl.CUSTOMREQUEST, "MLSD")
    read = _names_from_facts
    try:
        listing = _download_file(curl, task)
    except _Refusal as refusal:
        if refusal.status in (404, FetchStatus.TOO_BIG):
            raise
        # a server from before 2007; a second try shows whether the path is a directory
        curl.unsetopt(pycurl.CUSTOMREQUEST)
        curl.setopt(pycurl.DIRLISTONLY, 1)
        listing, read = _download_file(curl, task), _plain_names
    with closing(listing):
        entries = read(_listing_lines(listing))
        shown = (entry for entry in entries if entry[0] not in (b"", b".", b".."))
        return Fetched(200, HEADERS, listing_page(unquote_to_bytes(path), shown))


def _listing_lines(listing: DocumentStream) -> Iterator[bytes]:
    """The lines of a listing. Lines longer than LONGEST_LINE are cut."""
    listing.content.seek(0)
    for line in iter(lambda: listing.content.readline(LONGEST_LINE), b""):
        yield line.rstrip(b"\r\n")


def _plain_names(lines: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    return ((line.rpartition(b"/")[2], False) for line in lines)


def _names_from_facts(lines: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    for line in lines:
        facts, blank, name = line.partition(b" ")
        kind = next(
            (fact[5:] for fact in facts.lower().split(b";") if fact.startswith(b"type=")), b"file"
        )
        if blank and kind in (b"file", b"dir"):
            yield name, kind == b"dir"

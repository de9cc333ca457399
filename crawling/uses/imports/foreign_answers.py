"""The answer that the header of a record describes, in the ways in which other programs write
it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from io import BytesIO
from ipaddress import ip_address
from typing import IO, NamedTuple

from ada_url import URL

from crawling.uses.imports.foreign_records import ForeignRecord
from crawling.uses.imports.moments import Moment, read_moment
from crawling.web.addresses import MAX_ARCHIVED_LENGTH, Address, BadUrl, LongUrl, read_address
from crawling.web.http_caching import read_head

LONGEST_ID = 1000
LONGEST_TYPE = 200
TOO_LONG = f"have a URL of more than {MAX_ARCHIVED_LENGTH:,} characters"
#: records that crawlers write besides the answers of servers: name look-ups (Heritrix), their own
#: arguments and log (wget), pictures, texts and lists of a page (Webrecorder, Browsertrix,
#: brozzler)
NOTE = re.compile(
    r"(?:(?:dns|metadata|whois):"
    r"|(?:screenshot|thumbnail|youtube-dl:[0-9]{1,9}|urn:[A-Za-z0-9-]{1,40}):(https?:)?)[!-~]++",
    re.IGNORECASE,
)
#: the characters of a URI (RFC 3986, section 2)
URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*+:[!#-;=?-\[\]_a-z~%]++")


#: URLs that some tools wrote without `http:`, which other archives add
WITHOUT_SCHEME = re.compile(
    r"(?://)?(?:[A-Za-z0-9_-]{1,63}\.){1,20}[A-Za-z][A-Za-z0-9-]{1,62}(?::[0-9]{1,5})?(?:[/?#]|\Z)"
)


class SkippedRecord(Exception):
    """The record is no page. Other records are still read."""


@dataclass
class Reference:
    """A revisit record's facts about the record with its payload. Unknown facts are empty."""

    record_id: str
    url: str
    at: Moment | None


@dataclass
class ForeignAnswer:
    """An answer to be archived. Its receiver closes the payload."""

    kind: str
    #: the record's id in the file, and in the copy
    stated_id: str
    record_id: str
    stated_url: str
    #: the URL without user name and password; for a note its own address, which has no host
    address: Address
    at: Moment
    server: str
    #: the URL that a note is about, empty if it is about none; None for an answer
    about: str | None = None
    #: the head of the answer; empty if the record has only a document
    head: bytes = b""
    #: the status; 0 to take that of the answer to which the record refers
    status: int = 0
    payload: IO[bytes] = field(default_factory=BytesIO)
    size: int = 0
    #: the type that the record states
    content_type: str = ""
    is_cut_short: bool = False
    #: the reference of a revisit record
    reference: Reference | None = None
    is_not_modified: bool = False
    #: the digest of the payload, as the file states it
    digest: str = ""
    #: the actual digests of the payload in hexadecimal digits, with its transfer codings and
    #: without
    digests: frozenset[str] = frozenset()
    request: bytes = b""
    concurrent: frozenset[str] = frozenset()

    @property
    def has_credentials(self) -> bool:
        """Whether the answer's URL contains a user name."""
        return "@" in self.stated_url and _url_without_user(
            self.stated_url
        ) != self.stated_url.strip("<> ")

    @property
    def fields(self) -> dict[str, str]:
        return read_head(self.head.decode("latin-1"))


def read_description(record: ForeignRecord) -> ForeignAnswer:
    """The answer that a record's header describes. Raises SkippedRecord."""
    url = record.get("WARC-Target-URI")
    note = _address_note(url)
    answer = ForeignAnswer(
        record.kind,
        record.get("WARC-Record-ID"),
        _record_id(record.get("WARC-Record-ID")) or record.made_id,
        url,
        note.address if note else _read_or_skip(url),
        _moment_or_skip(record.get("WARC-Date")),
        _server_address(record.get("WARC-IP-Address")),
        content_type=record.get("Content-Type")[:LONGEST_TYPE],
        is_cut_short=bool(record.get("WARC-Truncated")) or record.is_cut_off,
        digest=record.get("WARC-Payload-Digest"),
        about=note.about if note else None,
        concurrent=frozenset(record.fields.get("warc-concurrent-to", ())),
    )
    if record.kind == "revisit":
        answer.is_not_modified = "server-not-modified" in record.get("WARC-Profile").lower()
        answer.reference = _read_reference(record)
    return answer


class _Note(NamedTuple):
    address: Address
    about: str


def is_note(record: ForeignRecord) -> bool:
    """Whether a record is a crawler's note. Its address shows that."""
    return bool(NOTE.fullmatch(record.get("WARC-Target-URI").strip("<> ")))


def _address_note(text: str) -> _Note | None:
    """The address of a note; None if the address is an answer's. Raises SkippedRecord."""
    uri = text.strip("<> ")
    found = NOTE.fullmatch(uri)
    if found is None:
        return None
    if len(uri) > MAX_ARCHIVED_LENGTH:
        raise SkippedRecord(TOO_LONG)
    about = ""
    if found[1]:
        begin = found.start(1)
        about, uri = _url_or_empty(uri[begin:]), uri[:begin] + _url_without_user(uri[begin:])
    return _Note(Address(uri, uri.partition(":")[0].lower(), "", 0), about)


def _url_or_empty(url: str) -> str:
    try:
        return _read_url(url).url
    except BadUrl:
        return ""


def _read_reference(record: ForeignRecord) -> Reference:
    identity, url, date = (
        record.get(f"WARC-Refers-To{name}") for name in ("", "-Target-URI", "-Date")
    )
    try:
        at = read_moment(date)
    except ValueError:
        at = None
    try:
        address = _read_url(url).url if url else ""
    except BadUrl:
        address = ""
    return Reference(_record_id(identity), address, at)


def id_key(text: str) -> str:
    """The common form of all spellings of an identity."""
    bare = text.strip().strip("<>").strip()
    return bare.lower() if bare[:9].lower() == "urn:uuid:" else bare


def _record_id(text: str) -> str:
    bare = text.strip().strip("<>").strip()
    return f"<{bare}>" if URI.fullmatch(bare) and len(bare) <= LONGEST_ID else ""


def _read_or_skip(text: str) -> Address:
    try:
        return _read_url(text)
    except LongUrl as error:
        raise SkippedRecord(TOO_LONG) from error
    except BadUrl as error:
        raise SkippedRecord("are of addresses that cannot be crawled") from error


def _read_url(text: str) -> Address:
    """Raises BadUrl."""
    bare = _url_without_user(text)
    if WITHOUT_SCHEME.match(bare):
        bare = f"http://{bare.removeprefix('//')}"
    return read_address(bare, most=MAX_ARCHIVED_LENGTH)


def _url_without_user(text: str) -> str:
    """A URL without user name and password, which the client sent in a header field (RFC 9110,
    section 4.2.4). Other archives index URLs in the same way.
    """
    bare = text.strip("<> ")
    if "@" not in bare:
        return bare
    try:
        url = URL(bare)
    except (ValueError, UnicodeEncodeError):
        return bare
    if not url.username and not url.password:
        return bare
    url.username = url.password = ""
    return url.href


def _moment_or_skip(text: str) -> Moment:
    try:
        return read_moment(text)
    except ValueError as error:
        raise SkippedRecord("have no date") from error


def _server_address(text: str) -> str:
    try:
        return str(ip_address(text.strip()))
    except ValueError:
        return ""

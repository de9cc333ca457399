"""The type of a document, by its server's statement (Fetch Standard, "extract a MIME type") and by
its first bytes (MIME Sniffing Standard).

Four rules are more tolerant than those of browsers (decision 120): a byte order mark before markup
is skipped, more elements begin HTML, meaningless types count as none, and a sitemap or feed is
recognized by its root element.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from crawling.web.document_stream import GZIP_MAGIC

#: the bytes of a document that are examined: the standard requires 1,445, and comments and
#: processing instructions may precede the root of XML
START_BYTES = 4096
HEADER_BYTES = 1445
#: the characters of a Content-Type that are read
LONGEST_STATED = 4096

BLANKS = " \t\r\n"
TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]++")
QUOTABLE = re.compile(r"[\t\x20-\x7e\x80-\xff]*+")
QUOTED_PAIR = re.compile(r"\\(.)", re.DOTALL)
#: the values of a list; commas in quotes do not separate values
LISTED = re.compile(r'(?:[^",]++|"(?:[^"\\]++|\\.|\\\Z)*+(?:"|\Z))*+', re.DOTALL)
PARAMETER = re.compile(
    r"""[ \t\r\n]*+([^;=]*+)(?:=(?:("(?:[^"\\]++|\\.|\\\Z)*+"?+)[^;]*+|([^;]*+)))?+(?:;|\Z)""",
    re.DOTALL,
)

OCTETS, TEXT, HTML, XML = "application/octet-stream", "text/plain", "text/html", "application/xml"
RSS, ATOM = "application/rss+xml", "application/atom+xml"
#: types by which a server says that it does not know the type (MIME Sniffing, section 7)
UNKNOWN = frozenset({"", "unknown/unknown", "application/unknown", "*/*"})
#: types by which servers and scripts say that a document is to be saved, whatever its real type
SILENT = UNKNOWN | {
    *(OCTETS, "binary/octet-stream", "application/octetstream", "application/x-octet-stream"),
    *("application/binary", "application/x-binary", "application/download"),
    *("application/x-download", "application/force-download", "application/x-force-download"),
}
#: types that mean *compressed*, although the document may already be decompressed: some servers
#: send it with a content coding
GZIPS = frozenset({"application/gzip", "application/x-gzip", "application/x-gunzip"})
#: the types that Apache once gave to every unknown file (MIME Sniffing, section 5.1)
APACHE = frozenset(
    {
        "text/plain",
        "text/plain; charset=ISO-8859-1",
        "text/plain; charset=iso-8859-1",
        "text/plain; charset=UTF-8",
    }
)
#: JavaScript MIME types (section 4.6)
SCRIPTS = frozenset(
    {
        *("application/ecmascript", "application/javascript", "application/x-ecmascript"),
        *("application/x-javascript", "text/ecmascript", "text/javascript", "text/jscript"),
        *("text/livescript", "text/x-ecmascript", "text/x-javascript"),
        *(f"text/javascript1.{minor}" for minor in range(6)),
    }
)
#: binary data bytes (section 3)
BINARY = bytes({*range(0x20)} - {0x09, 0x0A, 0x0C, 0x0D, 0x1B})
UTF_8_MARK, UTF_16_MARKS = b"\xef\xbb\xbf", (b"\xfe\xff", b"\xff\xfe")
#: a comment, a processing instruction or a declaration; the expression never backtracks
_BEFORE_ROOT = (
    rb"\s*+(?:(?:<!--(?>.*?-->)|<\?(?>.*?>)"
    rb"|<!doctype(?!\s++html\b)[^>\[]*+(?:\[[^\]]*+\]\s*+)?+>)\s*+)*+"
)
#: the root of a sitemap or a feed, with any prefix
ROOT = re.compile(
    _BEFORE_ROOT + rb"<(?:[\w.-]{1,60}+:)?+(urlset|sitemapindex|rss|feed|rdf)(?=[\s/>:])",
    re.IGNORECASE | re.DOTALL,
)
#: the namespace that makes RDF RSS 1.0 (MIME Sniffing, section 7.3)
RSS_1 = b"http://purl.org/rss/1.0/"
OF_ROOTS = {b"rss": RSS, b"rdf": RSS, b"feed": ATOM, b"urlset": XML, b"sitemapindex": XML}
#: the elements of section 7.1, and other elements with which pages begin
MARKUP = re.compile(
    rb"[\t\n\f\r ]*+<(?:!--|(?:!doctype\ html|html|head|script|iframe|h[1-6]|div|font|table|a|style"
    rb"|title|b|body|br|p|meta|link|base|center|form|img|[uod]l|li|hr|pre|span|main|nav|header"
    rb"|footer|section|article|frameset|noscript|blockquote|em|strong|i|u|small|big|label)"
    rb"[\t\n\f\r />])",
    re.IGNORECASE,
)
#: the usual beginnings of pages, which need no other check
PAGE = re.compile(rb"\s*+<(?:!doctype html|html)[\s>]", re.IGNORECASE)
XML_START = re.compile(rb"[\t\n\f\r ]*+<\?xml")
#: addresses, one a line, and nothing else, as in a text sitemap
ADDRESSES = re.compile(rb"\s*+(?:https?://[^\s<>]++[^\r\n<>]*+(?:[\r\n]\s*+|\Z))++", re.IGNORECASE)

#: the first bytes, an offset with the bytes there, and the type
Signatures = tuple[tuple[bytes, int, bytes, str], ...]
IMAGES: Signatures = (
    (b"\0\0\x01\0", 0, b"", "image/x-icon"),
    (b"\0\0\x02\0", 0, b"", "image/x-icon"),
    (b"BM", 0, b"", "image/bmp"),
    (b"GIF87a", 0, b"", "image/gif"),
    (b"GIF89a", 0, b"", "image/gif"),
    (b"RIFF", 8, b"WEBPVP", "image/webp"),
    (b"\x89PNG\r\n\x1a\n", 0, b"", "image/png"),
    (b"\xff\xd8\xff", 0, b"", "image/jpeg"),
)
RECORDINGS: Signatures = (
    (b"FORM", 8, b"AIFF", "audio/aiff"),
    (b"ID3", 0, b"", "audio/mpeg"),
    (b"OggS\0", 0, b"", "application/ogg"),
    (b"MThd\0\0\0\x06", 0, b"", "audio/midi"),
    (b"RIFF", 8, b"AVI ", "video/avi"),
    (b"RIFF", 8, b"WAVE", "audio/wave"),
)
FONTS: Signatures = (
    (b"", 34, b"LP", "application/vnd.ms-fontobject"),
    (b"\0\x01\0\0", 0, b"", "font/ttf"),
    (b"OTTO", 0, b"", "font/otf"),
    (b"ttcf", 0, b"", "font/collection"),
    (b"wOFF", 0, b"", "font/woff"),
    (b"wOF2", 0, b"", "font/woff2"),
)
#: the standard's signature of RAR contains a blank, which no real file has
ARCHIVES: Signatures = (
    (GZIP_MAGIC, 0, b"", "application/x-gzip"),
    (b"PK\x03\x04", 0, b"", "application/zip"),
    (b"Rar \x1a\x07\0", 0, b"", "application/x-rar-compressed"),
    (b"Rar!\x1a\x07", 0, b"", "application/x-rar-compressed"),
)
PDF: Signatures = ((b"%PDF-", 0, b"", "application/pdf"),)
POSTSCRIPT: Signatures = ((b"%!PS-Adobe-", 0, b"", "application/postscript"),)


class MediaType(NamedTuple):
    """A MIME type: `type/subtype` in lower case, and its parameters by name."""

    essence: str = ""
    parameters: Mapping[str, str] = MappingProxyType({})

    @property
    def charset(self) -> str:
        """The label of the encoding that the type names; "" if it names none."""
        return self.parameters.get("charset", "")


UNSTATED = MediaType()


def parse_media_type(text: str) -> MediaType | None:
    """Parse a MIME type (MIME Sniffing, section 4.4); None if the text is not one."""
    kind, _, rest = text.strip(BLANKS).partition("/")
    subtype, _, said = rest.partition(";")
    subtype = subtype.rstrip(BLANKS)
    if not (TOKEN.fullmatch(kind) and TOKEN.fullmatch(subtype)):
        return None
    parameters: dict[str, str] = {}
    for found in PARAMETER.finditer(said):
        name, quoted, plain = found.groups()
        name = name.lower()
        value = _unquoted_value(quoted) if quoted else (plain or "").rstrip(BLANKS)
        is_given = bool(value) or quoted is not None
        if is_given and TOKEN.fullmatch(name) and QUOTABLE.fullmatch(value):
            parameters.setdefault(name, value)
    return MediaType(f"{kind}/{subtype}".lower(), MappingProxyType(parameters))


def _unquoted_value(text: str) -> str:
    inner = text[1:-1] if len(text) > 1 and _is_closed(text) else text[1:]
    return QUOTED_PAIR.sub(r"\1", inner)


def _is_closed(text: str) -> bool:
    """Whether the last quotation mark ends a quoted string, so that no backslash escapes it."""
    before = text[1:-1]
    return text[-1] == '"' and (len(before) - len(before.rstrip("\\"))) % 2 == 0


@lru_cache(maxsize=1024)  # a site uses only a few
def stated_type(field: str) -> MediaType:
    """Extract a MIME type (Fetch, section 3.5) from the value of Content-Type, or from the values
    of several lines, joined by commas. The last valid type counts, with the encoding of earlier
    values of the same type. UNSTATED if there is none.
    """
    found, charset = UNSTATED, ""
    for value in _listed_values(field[:LONGEST_STATED]):
        parsed = parse_media_type(value)
        if parsed is None or parsed.essence == "*/*":
            continue
        if parsed.essence != found.essence:
            charset = ""
        charset = parsed.charset or charset
        found = parsed
    if charset and not found.charset:
        found = MediaType(found.essence, MappingProxyType({**found.parameters, "charset": charset}))
    return found


def _listed_values(field: str) -> Iterator[str]:
    """Get, decode, and split (Fetch, section 2.2.2)."""
    at = 0
    while at <= len(field):
        found = LISTED.match(field, at)
        end = found.end() if found else len(field)
        yield field[at:end].strip(" \t")
        at = end + 1


def is_sniffing_forbidden(field: str) -> bool:
    """Whether X-Content-Type-Options says `nosniff` (Fetch, section 3.6)."""
    return bool(field) and next(_listed_values(field)).lower() == "nosniff"


def is_sniffable(field: str) -> bool:
    """Whether only the document itself can show its real type."""
    return stated_type(field).essence in UNKNOWN


def document_type(field: str, start: bytes, *, options: str = "") -> str:
    """The type, without parameters, by which a document is read; "" for an empty document without a
    type.

    field, options: the values of Content-Type and X-Content-Type-Options; start: the document's
    first START_BYTES.
    """
    essence = stated_type(field).essence
    if not start or (essence == HTML and PAGE.match(start)):
        return essence
    family = essence.partition("/")[0]
    if essence in SILENT or (essence in GZIPS and not start.startswith(GZIP_MAGIC)):
        return _type_of_unknown(start, options)
    if family not in ("image", "audio", "video"):
        return _type_of_text(field, essence, start, options)
    if is_sniffing_forbidden(options) or essence.endswith("+xml"):
        return essence
    found = _type_by_signature(IMAGES if family == "image" else RECORDINGS, start)
    return found or (_video_type(start) if family != "image" else "") or essence


def _type_of_text(field: str, essence: str, start: bytes, options: str) -> str:
    """The type of a document that may be text or markup."""
    start = _markup_as_ascii(start)
    root = ROOT.match(start)
    if root and (found := _type_by_root(root[1].lower(), start)):
        is_xml = essence in ("text/xml", XML) or essence.endswith("+xml")
        return essence if is_xml and essence != "application/xhtml+xml" else found
    if essence == TEXT and not is_sniffing_forbidden(options) and _is_binary(start):
        return _type_by_signatures(start, may_lead=True) or (OCTETS if field in APACHE else TEXT)
    if essence == HTML and b"<" not in start and ADDRESSES.fullmatch(start):
        return TEXT
    if essence not in READ_AS_STATED and essence.startswith("text/") and essence not in SCRIPTS:
        return _type_by_markup(start) or essence
    return essence


#: text types that are believed, whatever the beginning of the document
READ_AS_STATED = frozenset({TEXT, HTML, "text/xml", "text/css", "text/csv", "text/markdown"})


def _type_of_unknown(start: bytes, options: str) -> str:
    """The type by the rules for unknown types (section 7.1). With `nosniff`, no document becomes a
    page.
    """
    may_lead = not is_sniffing_forbidden(options)
    text = _markup_as_ascii(start)
    root = ROOT.match(text)
    if root and (found := _type_by_root(root[1].lower(), text)):
        return found
    if may_lead and (found := _type_by_markup(text)):
        return found
    is_marked = start.startswith((UTF_8_MARK, *UTF_16_MARKS))
    if found := "" if is_marked else _type_by_signatures(start, may_lead=may_lead):
        return found
    return TEXT if is_marked or not _is_binary(start) else OCTETS


def _is_binary(start: bytes) -> bool:
    header = start[:HEADER_BYTES]
    return len(header.translate(None, BINARY)) < len(header)


def _type_by_root(name: bytes, start: bytes) -> str:
    return "" if name == b"rdf" and RSS_1 not in start else OF_ROOTS[name]


def _type_by_markup(start: bytes) -> str:
    if MARKUP.match(start):
        return HTML
    return "text/xml" if XML_START.match(start) else ""


def _type_by_signatures(start: bytes, *, may_lead: bool) -> str:
    signatures = (PDF if may_lead else ()) + POSTSCRIPT + IMAGES + RECORDINGS
    return (
        _type_by_signature(signatures, start)
        or _video_type(start)
        or _type_by_signature(ARCHIVES + FONTS, start)
    )


def _type_by_signature(signatures: Signatures, start: bytes) -> str:
    return next(
        (
            name
            for first, at, then, name in signatures
            if start.startswith(first) and start.startswith(then, at)
        ),
        "",
    )


def _video_type(start: bytes) -> str:
    """MP4, WebM and MP3 (sections 6.2.1 to 6.2.3)."""
    if start[4:8] == b"ftyp":
        size = int.from_bytes(start[:4])
        brands = [start[8:11], *(start[at : at + 3] for at in range(16, min(size, 256), 4))]
        if len(start) >= size and size >= 12 and size % 4 == 0 and b"mp4" in brands:
            return "video/mp4"
    if start[:4] == b"\x1a\x45\xdf\xa3" and b"\x42\x82" in start[4:38]:
        at = start.index(b"\x42\x82", 4) + 2
        return "video/webm" if b"webm" in start[at : at + 12] else ""
    return "audio/mpeg" if _is_mp3(start) else ""


#: bits a second in thousands, by the index of MPEG-1 and of MPEG-2, and samples a second likewise
BIT_RATES = (
    (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
)
SAMPLE_RATES = (44_100, 48_000, 32_000)


def _is_mp3(start: bytes) -> bool:
    """Whether a frame of MP3 begins here and is followed by another (section 6.2.3)."""
    if not _is_frame(start):
        return False
    version, bits = start[1] >> 3 & 3, start[2]
    is_first = version == 3
    rate = BIT_RATES[not is_first][bits >> 4] * 1000
    samples = SAMPLE_RATES[bits >> 2 & 3] // {3: 1, 2: 2}.get(version, 4)
    size = rate * (144 if is_first else 72) // samples + (bits >> 1 & 1)
    return size >= 4 and _is_frame(start[size : size + 4])


def _is_frame(start: bytes) -> bool:
    if len(start) < 4 or start[0] != 0xFF or start[1] & 0xE0 != 0xE0:
        return False
    layer, rate, samples = start[1] >> 1 & 3, start[2] >> 4, start[2] >> 2 & 3
    return layer == 1 and rate not in (0, 15) and samples != 3


def _markup_as_ascii(start: bytes) -> bytes:
    """Markup as ASCII: without a byte order mark, and of UTF-16 only the byte of each pair that is
    not zero.
    """
    if start.startswith(UTF_8_MARK):
        return start[3:]
    if start.startswith(UTF_16_MARKS):
        return start[2:].replace(b"\0", b"")
    is_wide = start[:4] in (b"<\0?\0", b"\0<\0?", b"<\0!\0", b"\0<\0!")
    return start.replace(b"\0", b"") if is_wide else start

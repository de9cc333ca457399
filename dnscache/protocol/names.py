"""Host names in one spelling, addresses in unusual spellings, and names by level. Pure.

Names follow IDNA2008 with UTS 46 and, as in browsers, may have `_` and hyphens anywhere: real hosts
have them. Addresses are recognised as the WHATWG URL standard does it (`127.1`, `0x7f.1`,
`2130706433`), so that DNS is never asked for an address.

Levels (SEEDS D4): 1 is a registered name (`baidu.com`), 2 a name with one label more, 3 every
longer name. The patent counts dots, by which `com.cn` would be a registered name; the public suffix
list is right there. Only its ICANN part is used: `a.github.io` and `b.github.io` are in one zone of
DNS, with pages of many authors.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from functools import lru_cache

import idna
from publicsuffixlist import PublicSuffixList

LONGEST_NAME, LONGEST_LABEL = 253, 63
#: RFC 6761: localhost is always this machine, and invalid never exists. `.test` and `.example`
#: resolve where they are set up.
REFUSED = ("localhost", "invalid")
_ASCII_LABEL = re.compile(r"[a-z0-9_-]+")
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")


class DnsCacheError(Exception):
    """The host cannot be resolved."""


class BadName(DnsCacheError):
    """The text is not a host name that DNS could know, nor an address."""


class RefusedName(DnsCacheError):
    """The name never belongs to a host on the network (RFC 6761)."""


@dataclass(frozen=True)
class HostName:
    """A host name in its canonical spelling, or an address."""

    text: str
    #: whether this is an address (in its canonical spelling, without brackets)
    is_literal: bool


def read_host(text: str) -> HostName:
    """Return the host in its canonical spelling.

    Raises BadName with the reason, or RefusedName for a name that RFC 6761 keeps from the network.
    """
    if text.startswith("[") or ":" in text:
        return HostName(_canonical_ipv6(text), True)
    name = _plain_letters(text).removesuffix(".")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return HostName(_canonical_ipv4(text, labels), True)
    name = ".".join(_canonical_label(text, label) for label in labels)
    if len(name) > LONGEST_NAME:
        raise BadName(f"{_shortened_text(text)}: {len(name)} characters, more than {LONGEST_NAME}")
    if name.rpartition(".")[2] in REFUSED:
        raise RefusedName(
            f"{_shortened_text(text)}: the name is reserved and belongs to no host on the network "
            "(RFC 6761)"
        )
    return HostName(name, False)


def _plain_letters(text: str) -> str:
    """The text in lower case, with ordinary letters for full-width ones, and dots for the full
    stops of other scripts.
    """
    if text.isascii():
        return text.lower()
    try:
        return idna.uts46_remap(text, std3_rules=False)
    except idna.IDNAError as error:
        raise BadName(f"{_shortened_text(text)}: {error}") from error


def _canonical_label(text: str, label: str) -> str:
    if not label:
        raise BadName(f"{_shortened_text(text)}: an empty label" if text else "the host is empty")
    if not _ASCII_LABEL.fullmatch(label) or label.startswith("xn--"):
        try:
            label = idna.alabel(label).decode("ascii")
        except idna.IDNAError as error:
            raise BadName(f"{_shortened_text(text)}: {error}") from error
    if len(label) > LONGEST_LABEL:
        raise BadName(
            f"{_shortened_text(text)}: a label of {len(label)} characters, "
            f"more than {LONGEST_LABEL}"
        )
    return label


def _canonical_ipv6(text: str) -> str:
    """The canonical spelling of an IPv6 address. A zone (`%eth0`) is refused: it names an interface
    of this machine.
    """
    inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    try:
        if "%" in inner:
            raise ValueError("a zone is not allowed")
        return str(ipaddress.IPv6Address(inner))
    except ValueError as error:
        raise BadName(f"{_shortened_text(text)}: not an IPv6 address ({error})") from error


def _canonical_ipv4(text: str, parts: list[str]) -> str:
    """The canonical spelling of an IPv4 address: one to four numbers in base 8, 10 or 16, the last
    of which fills the remaining bytes.
    """
    try:
        numbers = [_part_of_ipv4(part) for part in parts]
        *leading, last = numbers
        if len(numbers) > 4 or any(number > 255 for number in leading):
            raise ValueError("numbers out of range")
        value = last + sum(number << (8 * (3 - place)) for place, number in enumerate(leading))
        if last >= 256 ** (5 - len(numbers)):
            raise ValueError("numbers out of range")
    except ValueError as error:
        raise BadName(
            f"{_shortened_text(text)}: ends in a number but is not an IPv4 address ({error})"
        ) from error
    return str(ipaddress.IPv4Address(value))


def _part_of_ipv4(part: str) -> int:
    if not _NUMBER.fullmatch(part):
        raise ValueError(f"{part!r} is not a number")
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    return int(part, 8 if len(part) > 1 and part.startswith("0") else 10)


def _shortened_text(text: str) -> str:
    """The text, shortened for a message, since a hostile text can have megabytes."""
    return repr(text if len(text) <= 80 else text[:77] + "...")


@dataclass(frozen=True, slots=True)
class Levels:
    first: str
    #: empty for a registered name itself
    second: str = ""
    #: empty unless the name is longer
    third: str = ""

    @property
    def level(self) -> int:
        return 3 if self.third else 2 if self.second else 1


def levels_of(name: str) -> Levels:
    """Split a canonical name.

    A public suffix or single label, which is not registered, counts as a registered name.
    """
    return split_below(_suffixes().privatesuffix(name) or name, name)


def split_below(first: str, name: str) -> Levels:
    """Split a name whose registered part is known."""
    if first == name:
        return Levels(name)
    label = name[: -len(first) - 1].rpartition(".")[2]
    second = f"{label}.{first}"
    return Levels(first, second, "" if second == name else name)


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList(only_icann=True)

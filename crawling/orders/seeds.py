"""Seeds and tags as users enter them.

Seeds are one address a line, each once. All mistakes are reported at once.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Sequence

from allocation.wording import beginning_of_list
from crawling.web.addresses import Address, BadUrl, read_address

#: the most mistakes in one message; further mistakes are shown once these are corrected
TOLD = 3


#: `example.org`, `example.org:8080/x`, `192.0.2.7`, `[2001:db8::1]/`, each without a scheme
SCHEMELESS = re.compile(
    r"(?P<host>[^\s/?#@:\[\].]++(?:\.[^\s/?#@:\[\].]++)++\.?|\[[0-9A-Fa-f:.]++\])"
    r"(?::(?P<port>[0-9]{1,5}))?(?P<rest>[/?#].*)?"
)


def read_typed(text: str) -> Address:
    """The address that a user means by a text. Raises BadUrl.

    Without a scheme, https is assumed, as in browsers, but http for an IP address or a port other
    than 443, which rarely have a certificate.
    """
    text = text.strip()
    if found := SCHEMELESS.fullmatch(text):
        is_plain = found["port"] not in (None, "443") or _is_number(found["host"])
        text = f"{'http' if is_plain else 'https'}://{text}"
    return read_address(text)


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def read_seeds(texts: Iterable[str]) -> tuple[list[Address], list[str]]:
    """The addresses in canonical form, each once, and a sentence for each invalid text."""
    addresses: dict[str, Address] = {}
    wrong = []
    for text in texts:
        try:
            address = read_typed(text)
        except BadUrl as error:
            wrong.append(str(error))
        else:
            addresses.setdefault(address.url, address)
    return list(addresses.values()), wrong


def mistakes_in_short(mistakes: Sequence[str]) -> str:
    """The first few mistakes, and the number of further ones."""
    return beginning_of_list(mistakes, TOLD, between="; ")


MOST_TAGS = 20
LONGEST_TAG = 30


class BadTags(ValueError):
    """The tags are invalid; the sentence says which and why."""


def read_tags(text: str) -> list[str]:
    """The tags in a comma-separated list: trimmed, each once, in alphabetical order. Raises
    BadTags.
    """
    tags = sorted({" ".join(tag.split()) for tag in text.split(",")} - {""})
    for tag in tags:
        if len(tag) > LONGEST_TAG:
            raise BadTags(
                f"The tag {tag[:LONGEST_TAG]!r}… is longer than {LONGEST_TAG} characters; "
                "choose a shorter one."
            )
        if not tag.isprintable():
            raise BadTags(f"The tag {tag!r} has signs that cannot be shown; leave them out.")
    if len(tags) > MOST_TAGS:
        raise BadTags(
            f"A crawl has at most {MOST_TAGS} tags, and these are {len(tags)}; leave some out."
        )
    return tags

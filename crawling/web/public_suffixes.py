"""Public suffixes: names under which users register names (publicsuffix.org)."""

from __future__ import annotations

from functools import cache, lru_cache
from ipaddress import ip_address

from publicsuffixlist import PublicSuffixList


@lru_cache(maxsize=10_000)
def domain_of(hostname: str) -> str:
    """The registrable domain. A public suffix is its own domain. Empty for an IP address."""
    return "" if is_literal(hostname) else _suffixes().privatesuffix(hostname) or hostname


def is_public_suffix(name: str) -> bool:
    return _suffixes().publicsuffix(name) == name


def is_literal(hostname: str) -> bool:
    """Whether a URL's host name is an IP address."""
    try:
        ip_address(hostname.strip("[]"))
    except ValueError:
        return False
    return True


@cache
def _suffixes() -> PublicSuffixList:
    """The list of public suffixes. It is read at its first use, which takes a tenth of a second and
    some megabytes.
    """
    return PublicSuffixList(accept_unknown=True)

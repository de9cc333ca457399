"""Why a host cannot be resolved at all."""

from __future__ import annotations


class DnsCacheError(Exception):
    """The host cannot be resolved."""


class BadName(DnsCacheError):
    """The text is not a host name that DNS could know, nor an address."""


class RefusedName(DnsCacheError):
    """The name never belongs to a host on the network (RFC 6761)."""

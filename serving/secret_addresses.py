"""Pages that need no account: their addresses are secrets. An address opens so many a minute."""

from __future__ import annotations

from django.http import HttpRequest

from serving.visitors import counted, visitor_address

#: neither kept by caches, nor listed by search engines; the address is a secret, so links from here
#: do not send it
HEADERS = {
    "Cache-Control": "private, no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
}
#: such pages that an address may ask for in a minute, whether there is one
SHARED_REPORTS = 60


def exceeds_shared_reports(request: HttpRequest) -> bool:
    """Whether its address has opened too many share links in this minute; counts this one."""
    return counted(f"shared/{visitor_address(request)}") > SHARED_REPORTS

"""Addresses as operators give them, in any spelling."""

from __future__ import annotations

from crawling.models import Url
from crawling.web.addresses import Address, fingerprints, read_address, read_route


def known_address(text: str) -> Address:
    """The address, with the fragment of a route if a run has met it: only a rendered page leads
    there, and elsewhere a fragment names no page. Raises BadUrl.
    """
    address = read_address(text)
    route = read_route(text, address)
    if route is None:
        return address
    met = Url.objects.filter(fingerprint__in=fingerprints(route.url), url=route.url)
    return route if met.exists() else address

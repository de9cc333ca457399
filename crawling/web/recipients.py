"""Which URLs may be sent an order's secrets: what was given for https never goes in clear."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from crawling.web.addresses import DEFAULT_PORTS, Address


@dataclass(frozen=True)
class Recipients:
    """A seed by http stands for the same name by https, too, each at its usual port: sites lead
    there, and nobody on the line learns more by it.
    """

    #: scheme, name and port of the seeds (RFC 6454), as `Address.origin` spells them
    origins: frozenset[str] = frozenset()

    @classmethod
    def of_seeds(cls, seeds: Iterable[Address]) -> Recipients:
        named = {seed.origin for seed in seeds}
        usual = "http", DEFAULT_PORTS["http"]
        safer = {f"https://{seed.hostname}" for seed in seeds if (seed.scheme, seed.port) == usual}
        return cls(frozenset(named | safer))

    def may_have_headers(self, address: Address) -> bool:
        """Whether secret headers are sent with a request for the URL."""
        return address.origin in self.origins

    def may_have_password(self, address: Address) -> bool:
        """Whether the credentials that the order has for the URL's host are sent there.

        Encrypted they are wherever the order names the host; by http and ftp, which show them to
        everybody on the line, only where a seed has that scheme.
        """
        return address.scheme == "https" or address.origin in self.origins

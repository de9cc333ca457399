"""What an order may spend besides its hard limits: softly in all, and on each host."""

from __future__ import annotations

from pydantic import BaseModel

from crawling.orders.fields import Bytes, Count

#: what is limited: pages fetched, bytes of documents, seconds since the first fetch
MEASURES = ("pages", "bytes", "seconds")
#: more hosts of one domain than nearly every organisation has
MOST_HOSTS = 200


class BudgetPart(BaseModel):
    """At a soft limit no new URL is let in, and what is known is finished.

    At a hard one nothing more is fetched.

    soft_…: of the crawl, whose hard limits are max_…. host_soft_…, host_max_…: of each host.
    domain_max_hosts: hosts of one registrable domain; links to further ones are not let in. A
        wildcard in DNS makes names without end. Seeds are let in, and count.
    """

    soft_pages: Count | None = None
    soft_bytes: Bytes | None = None
    soft_seconds: Count | None = None
    host_soft_pages: Count | None = None
    host_soft_bytes: Bytes | None = None
    host_soft_seconds: Count | None = None
    host_max_pages: Count | None = None
    host_max_bytes: Bytes | None = None
    host_max_seconds: Count | None = None
    domain_max_hosts: Count = MOST_HOSTS

    def budget_mistakes(self) -> dict[str, str]:
        """A sentence for each soft limit that a hard one would never let be reached."""
        limits = [
            (f"{level}soft_{measure}", f"{level}max_{measure}")
            for level in ("", "host_")
            for measure in MEASURES
        ]
        pairs = [(soft, getattr(self, soft), hard, getattr(self, hard)) for soft, hard in limits]
        return {
            soft: f"must be less than {hard}, {most:,}, which would end the crawl before it"
            for soft, least, hard, most in pairs
            if least is not None and most is not None and least >= most
        }

"""What an order may spend besides its hard limits: softly in all, and on each host."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel

from crawling.orders.fields import MEGABYTES, MINUTES, Bytes, Count, Question

#: what is limited: pages fetched, bytes of documents, seconds since the first fetch
MEASURES = ("pages", "bytes", "seconds")
#: more hosts of one domain than nearly every organisation has
MOST_HOSTS = 200
SOFT, HOST_SOFT, HOST_MAX = "Soft limit", "Soft limit on each host", "Limit on each host"
FROM_ITS_FIRST_PAGE = "From the host's first page on."


class BudgetPart(BaseModel):
    """At a soft limit no new URL is let in, and what is known is finished.

    At a hard one nothing more is fetched. The hard limits of the crawl are max_….
    """

    soft_pages: Annotated[
        Count | None,
        Question(
            label="Soft limit: pages",
            heading=SOFT,
            help="After that no new address is let in.",
            meaning="pages of the crawl after which no new URL is let in",
            above="At a soft limit no new address is let in, and what is known is finished; at a "
            "hard one nothing more is fetched.",
        ),
    ] = None
    soft_bytes: Annotated[
        Bytes | None,
        Question(
            label="Soft limit: MB",
            heading=SOFT,
            meaning="bytes of documents after which no new URL is let in",
            unit=MEGABYTES,
        ),
    ] = None
    soft_seconds: Annotated[
        Count | None,
        Question(
            label="Soft limit: minutes",
            heading=SOFT,
            meaning="seconds since the first fetch after which no new URL is let in",
            unit=MINUTES,
        ),
    ] = None
    host_soft_pages: Annotated[
        Count | None,
        Question(
            label="Soft limit per host: pages",
            heading=HOST_SOFT,
            meaning="pages of a host after which no new URL of it is let in",
            above="",
        ),
    ] = None
    host_soft_bytes: Annotated[
        Bytes | None,
        Question(
            label="Soft limit per host: MB",
            heading=HOST_SOFT,
            meaning="bytes of a host's documents after which no new URL of it is let in",
            unit=MEGABYTES,
        ),
    ] = None
    host_soft_seconds: Annotated[
        Count | None,
        Question(
            label="Soft limit per host: minutes",
            heading=HOST_SOFT,
            help=FROM_ITS_FIRST_PAGE,
            meaning="seconds since a host's first page after which no new URL of it is let in",
            unit=MINUTES,
        ),
    ] = None
    host_max_pages: Annotated[
        Count | None,
        Question(
            label="Pages a host",
            heading=HOST_MAX,
            help="After that nothing more is fetched there.",
            meaning="pages of a host after which nothing more is fetched there",
            above="",
            option="--host-max-pages",
        ),
    ] = None
    host_max_bytes: Annotated[
        Bytes | None,
        Question(
            label="Megabytes a host",
            heading=HOST_MAX,
            meaning="bytes of a host's documents after which nothing more is fetched there",
            unit=MEGABYTES,
        ),
    ] = None
    host_max_seconds: Annotated[
        Count | None,
        Question(
            label="Minutes a host",
            heading=HOST_MAX,
            help=FROM_ITS_FIRST_PAGE,
            meaning="seconds since a host's first page after which nothing more is fetched there",
            unit=MINUTES,
        ),
    ] = None
    max_hosts: Annotated[
        Count | None,
        Question(
            label="Hosts",
            help="Links to further hosts are not followed. Needed if links may lead anywhere.",
            meaning="hosts of the crawl; links to further ones are not let in. Seeds are let in, "
            "and count. Needed with the scope anywhere",
            above="",
            option="--max-hosts",
        ),
    ] = None
    domain_max_pages: Annotated[
        Count | None,
        Question(
            label="Pages a domain",
            help="Of all its hosts together; after that nothing more is fetched there.",
            meaning="pages of one registrable domain after which nothing more is fetched there. "
            "This or host_max_pages is needed with the scope anywhere",
            option="--domain-max-pages",
        ),
    ] = None
    domain_max_hosts: Annotated[
        Count,
        Question(
            label="Hosts a domain",
            help=f"Links to further hosts of a domain are not followed. Empty: {MOST_HOSTS}.",
            meaning="hosts of one registrable domain; links to further ones are not let in, since "
            "a wildcard in DNS makes names without end. Seeds are let in, and count",
            option="--domain-max-hosts",
        ),
    ] = MOST_HOSTS

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

    def guard_mistakes(self) -> dict[str, str]:
        """A sentence for each limit without which a crawl of any site would have no end."""
        mistakes = {}
        if self.max_hosts is None:
            mistakes["max_hosts"] = (
                "is needed with the scope anywhere: links lead to ever more hosts"
            )
        if self.host_max_pages is None and self.domain_max_pages is None:
            mistakes["host_max_pages"] = (
                "this or domain_max_pages is needed with the scope anywhere: a single site "
                "without end could take all of the crawl"
            )
        return mistakes

"""The limits of an order besides the hard limits of the whole run: soft limits in total, and limits
on each host.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import BaseModel

from crawling.orders.fields import MEGABYTES, MINUTES, Bytes, Count, Question

#: the measures with limits: fetched pages, bytes of documents, seconds since the first fetch
MEASURES = ("pages", "bytes", "seconds")
#: nearly no organisation has more hosts in one domain
MOST_HOSTS = 200
SOFT, HOST_SOFT, HOST_MAX = "Soft limit", "Soft limit on each host", "Limit on each host"
FROM_ITS_FIRST_PAGE = "From the host's first page."
FILES_COUNT = "Files that pages load count, too."


class Limits(NamedTuple):
    """`None` means no limit."""

    pages: int | None
    bytes: int | None
    #: since the first fetch
    seconds: int | None


class BudgetPart(BaseModel):
    """At a soft limit no new URL is admitted, and known URLs are still fetched.

    At a hard limit nothing more is fetched. The hard limits of the crawl are the fields max_….
    """

    soft_pages: Annotated[
        Count | None,
        Question(
            label="Soft limit: pages",
            heading=SOFT,
            help="Once reached, no new URL is accepted.",
            meaning="soft limit: once the crawl has fetched N pages, no new URL is accepted",
            above="At a soft limit no new URL is accepted, and known URLs are still "
            "fetched; at a hard limit fetching ends.",
        ),
    ] = None
    soft_bytes: Annotated[
        Bytes | None,
        Question(
            label="Soft limit: MB",
            heading=SOFT,
            meaning="soft limit: once the documents have N bytes, no new URL is accepted",
            unit=MEGABYTES,
        ),
    ] = None
    soft_seconds: Annotated[
        Count | None,
        Question(
            label="Soft limit: minutes",
            heading=SOFT,
            meaning="soft limit: N seconds after the first fetch, no new URL is accepted",
            unit=MINUTES,
        ),
    ] = None
    host_soft_pages: Annotated[
        Count | None,
        Question(
            label="Soft limit per host: pages",
            heading=HOST_SOFT,
            help=FILES_COUNT,
            meaning="soft limit per host: once N pages of a host are fetched, files that pages "
            "load among them, no new URL of it is accepted",
            above="",
        ),
    ] = None
    host_soft_bytes: Annotated[
        Bytes | None,
        Question(
            label="Soft limit per host: MB",
            heading=HOST_SOFT,
            meaning="soft limit per host: once a host's documents have N bytes, no new URL of "
            "it is accepted",
            unit=MEGABYTES,
        ),
    ] = None
    host_soft_seconds: Annotated[
        Count | None,
        Question(
            label="Soft limit per host: minutes",
            heading=HOST_SOFT,
            help=FROM_ITS_FIRST_PAGE,
            meaning="soft limit per host: N seconds after a host's first page, no new URL of "
            "it is accepted",
            unit=MINUTES,
        ),
    ] = None
    host_max_pages: Annotated[
        Count | None,
        Question(
            label="Pages per host",
            heading=HOST_MAX,
            help=f"Once reached, nothing more is fetched from the host. {FILES_COUNT}",
            meaning="maximum pages per host, with the files that pages load",
            above="",
            option="--host-max-pages",
        ),
    ] = None
    host_max_bytes: Annotated[
        Bytes | None,
        Question(
            label="Megabytes per host",
            heading=HOST_MAX,
            meaning="maximum bytes of documents per host",
            unit=MEGABYTES,
        ),
    ] = None
    host_max_seconds: Annotated[
        Count | None,
        Question(
            label="Minutes per host",
            heading=HOST_MAX,
            help=FROM_ITS_FIRST_PAGE,
            meaning="maximum seconds per host, from its first page",
            unit=MINUTES,
        ),
    ] = None
    max_hosts: Annotated[
        Count | None,
        Question(
            label="Hosts",
            help="Links to further hosts are not followed. Required with the scope anywhere.",
            meaning="maximum hosts of the crawl; links to further hosts are not followed. Seeds "
            "are always accepted, and count. Required with the scope anywhere",
            above="",
            option="--max-hosts",
        ),
    ] = None
    domain_max_pages: Annotated[
        Count | None,
        Question(
            label="Pages per domain",
            help="All hosts of a registrable domain together. Once reached, nothing more "
            f"is fetched from them. {FILES_COUNT}",
            meaning="maximum pages per registrable domain, with the files that pages load. This "
            "or host_max_pages is required with the scope anywhere",
            option="--domain-max-pages",
        ),
    ] = None
    domain_max_hosts: Annotated[
        Count,
        Question(
            label="Hosts per domain",
            help=f"Links to further hosts of a domain are not followed. Empty: {MOST_HOSTS}.",
            meaning="maximum hosts per registrable domain; links to further ones are not "
            "followed, since a DNS wildcard creates names without end. Seeds are "
            "always accepted, and count",
            option="--domain-max-hosts",
        ),
    ] = MOST_HOSTS

    @property
    def soft(self) -> Limits:
        """The soft limits of the whole run."""
        return Limits(self.soft_pages, self.soft_bytes, self.soft_seconds)

    @property
    def host_soft(self) -> Limits:
        """The soft limits of each host."""
        return Limits(self.host_soft_pages, self.host_soft_bytes, self.host_soft_seconds)

    @property
    def host_max(self) -> Limits:
        """The hard limits of each host."""
        return Limits(self.host_max_pages, self.host_max_bytes, self.host_max_seconds)

    def budget_mistakes(self) -> dict[str, str]:
        """A sentence for each soft limit that could never be reached because of a hard one."""
        limits = [
            (f"{level}soft_{measure}", f"{level}max_{measure}")
            for level in ("", "host_")
            for measure in MEASURES
        ]
        pairs = [(soft, getattr(self, soft), hard, getattr(self, hard)) for soft, hard in limits]
        return {
            soft: f"must be less than {hard}, {most:,}, which would end the crawl first"
            for soft, least, hard, most in pairs
            if least is not None and most is not None and least >= most
        }

    def guard_mistakes(self) -> dict[str, str]:
        """A sentence for each missing limit without which a crawl of all sites would never end."""
        mistakes = {}
        if self.max_hosts is None:
            mistakes["max_hosts"] = (
                "is required with the scope anywhere: links lead to ever more hosts"
            )
        if self.host_max_pages is None and self.domain_max_pages is None:
            mistakes["host_max_pages"] = (
                "this or domain_max_pages is needed with the scope anywhere: a single site "
                "without end could take all of the crawl"
            )
        return mistakes

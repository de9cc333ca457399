"""Links to addresses that a crawler must not fetch."""

from __future__ import annotations

from crawling.web.statuses import FetchStatus
from tests.webs.case import Case, answer, links

#: addresses that cloud platforms serve only to their own machines, and private networks
FORBIDDEN = (
    "http://168.63.129.16/",
    "http://169.254.169.254/latest/meta-data/",
    "http://100.100.100.200/",
    "http://10.0.0.1/",
    "http://[fd00:ec2::254]/",
    "http://[::ffff:a9fe:a9fe]/",
)


def are_refused(seen):
    """None of the addresses was requested: no fetch is tried without an address that is allowed."""
    rows = seen.run.urls.filter(url__in=FORBIDDEN).values_list("status", flat=True)
    found = sorted(set(rows))
    if found != [FetchStatus.ADDRESS_REFUSED] or len(rows) != len(FORBIDDEN):
        return [f"{len(rows)} of {len(FORBIDDEN)} addresses ended as {found}"]
    return []


CASES: list[Case] = [
    Case(
        "links to addresses inside of clouds and homes",
        {"/": answer(links(*FORBIDDEN))},
        order={"off_site_hops": 1},
        judge=are_refused,
        small=True,
    ),
]

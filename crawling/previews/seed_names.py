"""The addresses of the names in a form's seeds, which are looked up in the background before a
crawl is created.

Name servers belong to strangers, so a background job asks them, with units of the pool.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User

from crawling.base.errors import InquiriesBusy
from crawling.jobs.temporary_grant import temporary_grant
from crawling.models import Inquiry, InquiryKind
from crawling.previews.inquiries import ask_once
from crawling.runs.seed_checks import MOST_NAMES, unknown_names
from dnscache.resolver import resolve_many

#: the longest time for all names together, and the longest wait for the grant before that
ANSWER_SECONDS, GRANT_SECONDS = 5.0, 5.0
#: the most look-ups at a time
MOST_SLOTS = 10
#: the time for which a sent form waits
PATIENCE_SECONDS = 2.0
LOOK_SECONDS = 0.1


def request_name_lookups(seeds: Sequence[str], *, by: User | None) -> Inquiry | None:
    """Request a background job that looks up the names without known addresses. Return None if
    there are none, or if too many pages ask at this moment. seeds: in canonical form.
    """
    names = unknown_names(seeds)
    if not names:
        return None
    try:
        return ask_once(InquiryKind.SEED_NAMES, {"names": names}, by=by)
    except InquiriesBusy:
        return None


def await_names(seeds: Sequence[str], *, by: User | None) -> None:
    """Wait until the addresses of the names are known, for PATIENCE_SECONDS at most."""
    inquiry, until = request_name_lookups(seeds, by=by), time.monotonic() + PATIENCE_SECONDS
    while inquiry and inquiry.is_open and time.monotonic() < until:
        time.sleep(LOOK_SECONDS)  # a row is checked, since another process answers
        inquiry.refresh_from_db()


def look_up_names(question: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Do the work of the job. The cache has the addresses afterwards. Raises NoUnits."""
    names = question["names"][:MOST_NAMES]
    wanted = {"dns_slots": min(len(names), MOST_SLOTS)}
    moment = temporary_grant(
        wanted, label=f"names {number}", reference=str(number), wait_seconds=GRANT_SECONDS
    )
    with moment as (units, _):
        slots = units.get("dns_slots", 1)
        found = resolve_many(names, parallel=slots, deadline=ANSWER_SECONDS)
    return {"resolved": sum(1 for one in found.values() if one.addresses)}

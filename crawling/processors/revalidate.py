"""Fetch: the document, or, where an earlier run has it, only if it has changed since."""

from __future__ import annotations

from dataclasses import replace

from requests.structures import CaseInsensitiveDict

from crawling.archive.earlier import Stored, stored_document
from crawling.fetchers.http import Fetched
from crawling.frontier.claiming import ClaimedUrl
from crawling.processors.kit import Kit
from crawling.processors.visit import Visit
from crawling.rules.addresses import Address
from crawling.rules.revalidation import renewed
from crawling.rules.statuses import NOT_MODIFIED_STATUS


def fetch_anew(visit: Visit, claimed: ClaimedUrl, address: Address, dial: str, kit: Kit) -> Fetched:
    """Fetch the URL. If the server says that what we have is still right, the answer has the body that we have."""
    earlier = visit.earlier.pop(claimed.id, None)
    stored = stored_document(earlier) if earlier else None
    fetched = kit.get(address, dial, keep=kit.archives, asking=earlier.questions if earlier and stored else None)
    return _carried_over(fetched, stored) if stored and fetched.status == NOT_MODIFIED_STATUS else fetched


def _carried_over(fetched: Fetched, stored: Stored) -> Fetched:
    return replace(fetched, headers=CaseInsensitiveDict(renewed(stored.headers, fetched.headers.items())), body=stored.body, unchanged_since=stored.page)

"""What an operator's hand does to the frontier: send waiting URLs ahead or to the end, take them
out, and put them back.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from django.db.models import QuerySet

from crawling.frontier.exclusion import exclude, readmit
from crawling.models import Run, Url, UrlState
from crawling.web.statuses import FetchStatus


class UrlAction(StrEnum):
    """What can be done to URLs.

    A place in line is that among the URLs of the same host: hosts take turns by themselves.
    """

    FIRST = "first"
    USUAL = "usual"
    LAST = "last"
    TAKE_OUT = "take_out"
    PUT_BACK = "put_back"


LANES = {UrlAction.FIRST: -1, UrlAction.USUAL: 0, UrlAction.LAST: 1}


def handle(run: Run, deed: UrlAction, url_ids: Sequence[int]) -> int:
    """Do it to those of the run's URLs that it fits: whatever waits, or, for PUT_BACK, whatever a
    hand took out; returns how many.

    The caller holds the run's lock. URLs in process are still fetched.
    """
    if deed is UrlAction.TAKE_OUT:
        return exclude(
            run.pk, dict.fromkeys(url_ids, FetchStatus.TAKEN_OUT.sentence), FetchStatus.TAKEN_OUT
        )
    if deed is UrlAction.PUT_BACK:
        return readmit(
            run.pk, list(taken_out(run).filter(pk__in=url_ids).values_list("pk", flat=True))
        )
    waiting = Url.objects.filter(run=run, state=UrlState.QUEUED, pk__in=url_ids).exclude(
        lane=LANES[deed]
    )
    return waiting.update(lane=LANES[deed])


def taken_out(run: Run) -> QuerySet[Url]:
    """What a hand has taken out of the run."""
    return Url.objects.filter(run=run, state=UrlState.EXCLUDED, status=FetchStatus.TAKEN_OUT)

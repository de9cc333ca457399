"""Add addresses that users give to a run as seeds."""

from __future__ import annotations

from collections.abc import Sequence

from crawling.frontier.admit.refusals import drop_verdicts
from crawling.frontier.admit.schedule import schedule_urls
from crawling.frontier.exclusion import readmit_urls
from crawling.frontier.run_counts import count_seeds
from crawling.frontier.types import Candidate
from crawling.models import Run, Url, UrlState, Verdict
from crawling.web.addresses import Address, fingerprint
from crawling.web.statuses import FetchStatus

#: URLs that a rule or an operator excluded are queued again when they are added as seeds
KEPT_OUT = (FetchStatus.FILTERED, FetchStatus.TAKEN_OUT)


def known_urls(run: Run, addresses: Sequence[Address]) -> dict[str, UrlState]:
    marks = [fingerprint(address.url) for address in addresses]
    wanted = {address.url for address in addresses}
    rows = Url.objects.filter(run=run, fingerprint__in=marks).values_list("url", "state")
    return {url: UrlState(state) for url, state in rows if url in wanted}


def add_seeds(run: Run, addresses: Sequence[Address], *, numbers: Sequence[int]) -> int:
    """Queue new URLs, and URLs that rules or operators have excluded. Return their number.

    A URL that is already waiting is a seed from now on. The caller holds the run's lock.
    """
    marks = [fingerprint(address.url) for address in addresses]
    drop_verdicts(
        run.pk,
        Verdict.objects.filter(
            run=run, fingerprint__in=marks, url__in=[address.url for address in addresses]
        ),
    )
    out = Url.objects.filter(
        run=run, fingerprint__in=marks, state=UrlState.EXCLUDED, status__in=KEPT_OUT
    )
    ids = list(out.values_list("pk", flat=True))
    # rules admit seeds, so the next judgement leaves it in the run
    Url.objects.filter(pk__in=ids).update(depth=0, via=None)
    seeds = [Candidate(address, depth=0, via=None) for address in addresses]
    added = schedule_urls(run, seeds, numbers=numbers).new
    if added:
        count_seeds(run.pk, added)
    return added + (readmit_urls(run.pk, ids) if ids else 0)

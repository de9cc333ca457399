"""Let the links of recorded pages into the frontier; those of a page with very many in slices, so
that no transaction holds the run's lock for long.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from django.db import connection
from django.db.backends.utils import CursorWrapper

from crawling.frontier.admit.budget_admission import within_budget
from crawling.frontier.admit.crawl_rules import rules_key
from crawling.frontier.admit.credits import credit_gains, return_unspent
from crawling.frontier.admit.quarantine import catch
from crawling.frontier.admit.refusals import keep_refusals
from crawling.frontier.admit.schedule import add_queues, count_links, schedule_urls
from crawling.frontier.record import batch_parts
from crawling.frontier.run_counts import FetchCounts, add_counts
from crawling.frontier.run_lock import locked_run
from crawling.frontier.types import UrlOutcome
from crawling.models import Run, Shift, Url, UrlState
from crawling.orders.ranking import Order


class LinkAdmission(NamedTuple):
    """How many URLs are new, how many of them a trap caught, which addresses were known, and how
    many links to those are still to be counted.
    """

    new: int
    caught: int
    known: Collection[str]
    links: Mapping[str, int]


def admit_links(
    cursor: CursorWrapper,
    run: Run,
    outcomes: Sequence[UrlOutcome],
    ranks: Mapping[int, float],
    numbers: Sequence[int],
) -> LinkAdmission:
    """Queue the links of the pages, and record links that rules or the budget exclude.

    ranks: of the pages, by the ids of their URLs. The caller holds the run's lock.
    """
    links, refusals = within_budget(run, [link for outcome in outcomes for link in outcome.links])
    refusals += [refusal for outcome in outcomes for refusal in outcome.refusals]
    if refusals:
        keep_refusals(cursor, run.pk, refusals, revision=rules_key(run.crawl))
    gains = credit_gains(cursor, run, outcomes, ranks)
    if trapped := [link for link in links if link.trap]:
        # of both at once: new hosts in one order, or two runs may wait for each other
        add_queues(cursor, run.pk, links, numbers=numbers)
    wanted = [link for link in links if not link.trap]
    found = schedule_urls(run, wanted, numbers=numbers, gains=gains)
    caught, unspent = 0, found.unspent
    if trapped:
        caught, _, unspent = catch(cursor, run, trapped, numbers=numbers, gains=unspent)
    return_unspent(run, unspent)
    # best-first has counted those to URLs that wait, and left the others
    counted = unspent if run.crawl.visit_order == Order.BEST_FIRST else count_links(wanted)
    met = {url: int(counted[url]) for url in found.known if url in counted}
    return LinkAdmission(found.new + caught, caught, found.known, met)


def without_first_links(outcome: UrlOutcome) -> UrlOutcome:
    """The page with those links and refusals only that `admit_first_links` leaves; itself if it has
    no more than one transaction may have.
    """
    if batch_parts.links_of(outcome) <= batch_parts.MOST_LINKS:
        return outcome
    first = _first_links(outcome)
    return replace(
        outcome,
        links=outcome.links[len(first.links) :],
        refusals=outcome.refusals[len(first.refusals) :],
    )


def admit_first_links(
    shift: Shift, outcome: UrlOutcome, numbers: Sequence[int]
) -> LinkAdmission | None:
    """Admit as many links of a page as one transaction may have, before the page itself is
    recorded. None: its URL is the shift's no more, or the order of visits shares what the page has
    among all its links at once.
    """
    with locked_run(shift.process.run_id) as run, connection.cursor() as cursor:
        is_ours = Url.objects.filter(pk=outcome.url_id, shift=shift, state=UrlState.IN_PROCESS)
        if run.crawl.visit_order == Order.OPIC or not is_ours.exists():
            return None
        found = admit_links(cursor, run, [_first_links(outcome)], {}, numbers)
        admitted = FetchCounts(discovered=found.new, quarantined=found.caught)
        add_counts(cursor, run.pk, admitted, process=shift.process.number)
    return found


def _first_links(outcome: UrlOutcome) -> UrlOutcome:
    links = outcome.links[: batch_parts.MOST_LINKS]
    return replace(
        outcome, links=links, refusals=outcome.refusals[: batch_parts.MOST_LINKS - len(links)]
    )

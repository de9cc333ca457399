"""The gains of URLs from the links of a batch, by the run's order of visits (SEEDS B4, W15)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import starmap
from typing import NamedTuple

from django.db.backends.utils import CursorWrapper
from django.db.models import F

from crawling.frontier.admit.package_ranks import PACKAGE_RANKS
from crawling.frontier.sql_rows import SentRows
from crawling.frontier.types import UrlOutcome
from crawling.models import LambdaRow, Run, RunTotal, UrlState
from crawling.orders.ranking import LambdaPage, Order, Ranking, is_from_extension, rank_by_order


class SpentCredit(NamedTuple):
    id: int
    credit: float


SPENT = SentRows("spent", SpentCredit)
#: A fetched URL has spent all its credit. If it is tried again, it begins without credit.
KEEP_CREDITS = f"""
UPDATE crawling_url u SET credit = spent.credit, rank = %(level)s
FROM {SPENT} WHERE u.id = spent.id
"""  # noqa: S608  # constants


def ranking_of(run: Run) -> Ranking:
    order, weights = run.crawl.visit_order, run.crawl.order.ordering
    level = (
        LambdaRow.objects.filter(run=run).values_list("level", flat=True).first()
        if order == Order.OPIC
        else None
    )
    return Ranking(
        order,
        weights.links_weight,
        weights.url_weight,
        weights.importance,
        level or 0.0,
        PACKAGE_RANKS.rank if is_from_extension(order) else rank_by_order,
    )


def credit_gains(
    cursor: CursorWrapper, run: Run, outcomes: Sequence[UrlOutcome], ranks: Mapping[int, float]
) -> dict[str, float]:
    """The gain of each URL from a batch. Best-first counts links, OPIC moves credit, and in a
    focused crawl the most similar link counts. In other orders there are no gains.

    ranks: the ranks of the batch's own URLs, by id. The caller holds the run's lock.
    """
    order = run.crawl.visit_order
    if order == Order.BEST_FIRST:
        return dict(
            Counter(
                link.address.url for outcome in outcomes for link in outcome.links if link.is_link
            )
        )
    if order == Order.FOCUSED:
        return _best_similarities(outcomes)
    return _spend_credit(cursor, run, outcomes, ranks) if order == Order.OPIC else {}


def _best_similarities(outcomes: Sequence[UrlOutcome]) -> dict[str, float]:
    found: dict[str, float] = {}
    for outcome in outcomes:
        for link in outcome.links:
            url = link.address.url
            found[url] = max(link.similarity, found.get(url, 0.0))
    return found


def _spend_credit(
    cursor: CursorWrapper, run: Run, outcomes: Sequence[UrlOutcome], ranks: Mapping[int, float]
) -> dict[str, float]:
    """Let pages spend their credit.

    If the Lambda page has more credit than any of them, it spends its credit first.
    """
    ended = [outcome for outcome in outcomes if outcome.state != UrlState.QUEUED]
    if not ended:
        return {}
    row, _ = LambdaRow.objects.get_or_create(run=run)
    page = LambdaPage(row.credit, row.level)
    if page.credit > page.level - min(ranks[outcome.url_id] for outcome in ended):
        page.divide_credit(_count_unfinished(run))
    credits = {outcome.url_id: page.level - ranks[outcome.url_id] for outcome in ended}
    gains: defaultdict[str, float] = defaultdict(float)
    for outcome in ended:
        urls = {link.address.url for link in outcome.links if link.is_link}
        share = page.spend(credits[outcome.url_id], len(urls))
        for url in urls:
            gains[url] += share
    row.credit, row.level = page.credit, page.level
    row.save()
    spent = starmap(SpentCredit, credits.items())
    cursor.execute(KEEP_CREDITS, SPENT.values(spent, level=page.level))
    return dict(gains)


def _count_unfinished(run: Run) -> int:
    """The number of URLs of the run that are not done. URLs of the current batch do not count as
    done yet.
    """
    left = (
        RunTotal.objects.filter(run=run)
        .values_list(F("discovered") - F("succeeded") - F("failed") - F("excluded"), flat=True)
        .first()
    )
    return max(1, left or 0)


def return_unspent(run: Run, gains: Mapping[str, float]) -> None:
    """Give credit that reached no waiting URL to the Lambda page, since a page that was already
    fetched will not spend it.
    """
    if gains and run.crawl.visit_order == Order.OPIC:
        LambdaRow.objects.filter(run=run).update(credit=F("credit") + sum(gains.values()))

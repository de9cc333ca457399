"""The plan of the times at which a crawl's pages are visited again. A new plan is made after each
run.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
from django.utils import timezone
from numpy.typing import NDArray

from crawling.models import CrawlJob, RevisitPlan, Run
from crawling.orders.sections.reuse import MOST_DAYS
from crawling.uses.revisits.change_rate import Prior, Visits, estimate_rates
from crawling.uses.revisits.history import VisitHistory, ended_runs, read_history
from crawling.uses.revisits.plans import ROWS_AT_A_TIME, store_plan, withdrawals_of
from crawling.uses.revisits.visit_rates import (
    POLICIES,
    age_days_after,
    freshness_after,
    mean_age_days,
    mean_freshness,
    rates_by_policy,
)
from crawling.uses.revisits.visit_times import (
    end_of_spent_budget,
    shares_of_wait,
    spread_visits,
    visits_in_horizon,
)

logger = logging.getLogger(__name__)

Floats = NDArray[np.float64]

#: the assumed rate, in changes a day, of an unknown page in an unknown crawl
USUAL_RATE = 1 / 30
#: the weight of the rates of the crawl's other pages: half a change of each page
WEIGHT = 0.5
#: the days over which the visits of a budget are counted, and the most days after a visit that it
#: may use of the budget
DAYS_COUNTED, MOST_DAYS_AHEAD = 30.0, 1.0
#: the most hosts for which a plan has sums
MOST_HOSTS = 500
SECONDS_A_DAY = 86400
#: the year 9000, in days since 1970
LAST_DAY = 365.25 * 7030


class PageFreshness(NamedTuple):
    """For each page, the probability that it is unchanged since its last visit, and the mean number
    of days since its first change.
    """

    freshness: Floats
    age_days: Floats


def plan_crawl(crawl_id: int) -> None:
    """Plan the visits of a crawl by its stored runs. A second call has no effect."""
    crawl = CrawlJob.objects.filter(pk=crawl_id).first()
    if crawl is None or not crawl.order.reuse.visits_a_day:
        return
    run = ended_runs(crawl).first()
    if run is None:
        return
    withdrawals = withdrawals_of(crawl_id)
    plan = _CrawlPlan(crawl, run, read_history(crawl), timezone.now())
    is_stored = store_plan(plan.summary(), plan.rows(), crawl.reuse, withdrawals)
    facts = {"crawl": crawl_id, "run": run.number, "stored": is_stored}
    logger.info("revisits were planned", extra=facts)


def prior_of(visits: Visits) -> Prior:
    """The prior for an unknown page, from all pages of a crawl together.

    Its weight is at most that of one unchanged visit after a mean time, or after a day, so that
    pages which change far more often than others are soon recognised.
    """
    days = float(visits.days.sum())
    rate = (int(visits.changed.sum()) + WEIGHT) / (days + WEIGHT / USUAL_RATE)
    between = days / len(visits.days) if len(visits.days) else 1 / USUAL_RATE
    return Prior(rate, min(WEIGHT, rate * max(1.0, between)))


class _CrawlPlan:
    """The estimates and the visits that follow from a history. Arrays have an element for each
    page.
    """

    def __init__(self, crawl: CrawlJob, run: Run, history: VisitHistory, now: datetime) -> None:
        self._crawl, self._run, self._history, self._now = crawl, run, history, now
        reuse = crawl.order.reuse
        self._budget, self._policy = reuse.visits_a_day, reuse.visit_policy
        self._longest = float(reuse.revisit_days or MOST_DAYS)
        self._visits = history.visits
        self._visited = np.array(history.visited, np.float64)
        self._rates = estimate_rates(self._visits, len(self._visited), prior_of(self._visits))
        self._waits = 1 / self._visits_by(self._policy)

    def _visits_by(self, policy: str) -> Floats:
        return rates_by_policy(policy, self._rates.rate, self._budget, least=1 / self._longest)

    @property
    def _today(self) -> float:
        return self._now.timestamp() / SECONDS_A_DAY

    def _counts(self) -> tuple[Floats, Floats]:
        """The number of visits of each page, and of visits that found it changed."""
        page, pages = self._visits.page, len(self._visited)
        return _sums_by_group(page, np.ones(len(page)), pages), _sums_by_group(
            page, self._visits.changed, pages
        )

    def _next_visits(self) -> Floats:
        """The next visit of each page, in days since 1970."""
        # Pages that were visited together, as by a run without a plan, get different times for
        # their next visits. Otherwise all would become due at the same time, and until then the
        # budget would not be used.
        are_together = visits_in_horizon(self._visited) > self._budget
        share = shares_of_wait(self._history.fingerprints, self._counts()[0])
        waits = self._waits * np.where(are_together, share, 1.0)
        expires = np.minimum(self._history.expires, self._visited + self._longest)
        # if one of the two is NaN, the result is the other
        wanted = np.fmax(self._visited + waits, expires)
        wanted = np.where(self._history.is_outdated, self._visited, wanted)
        return spread_visits(wanted, self._budget, self._budget_start())

    def _budget_start(self) -> float:
        """The time until which the visits of the last days have used up the budget. Unused visits
        are made later: each run makes up for the time since the previous run.
        """
        began = max(self._history.began, self._today - DAYS_COUNTED)
        visits = np.array(self._history.at, np.float64)
        return end_of_spent_budget(visits[visits > began], self._budget, began, MOST_DAYS_AHEAD)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows of `PlannedRevisit`, made from some pages at a time. All rows at once would take
        three times the memory of the history.
        """
        history, counts, next_visits = self._history, self._counts(), self._next_visits()
        for at in range(0, len(self._visited), ROWS_AT_A_TIME):
            some = slice(at, at + ROWS_AT_A_TIME)
            columns = {
                "fingerprint": history.fingerprints[some],
                "url": history.urls[some],
                "host": history.hosts[some],
                "visits": counts[0][some].astype(int).tolist(),
                "changes": counts[1][some].astype(int).tolist(),
                "rate": self._rates.rate[some].tolist(),
                "low": self._rates.low[some].tolist(),
                "high": self._rates.high[some].tolist(),
                "wait_days": self._waits[some].tolist(),
                "visited_at": map(_time_of_days, history.visited[some]),
                "next_at": map(_time_of_days, next_visits[some].tolist()),
            }
            for values in zip(*columns.values(), strict=True):
                yield {"crawl_id": self._crawl.pk, **dict(zip(columns, values, strict=True))}

    def summary(self) -> RevisitPlan:
        rate, since = self._rates.rate, np.maximum(0.0, self._today - self._visited)
        at_end = PageFreshness(freshness_after(rate, since), age_days_after(rate, since))
        policies = {
            name: PageFreshness(mean_freshness(rate, visits), mean_age_days(rate, visits))
            for name in POLICIES
            for visits in [self._visits_by(name)]
        }
        return RevisitPlan(
            crawl=self._crawl,
            planned_at=self._now,
            run_number=self._run.number,
            ended_at=self._history.ended_at,
            visits_a_day=self._budget,
            policy=self._policy,
            pages=len(self._visited),
            visits=len(self._visits.days),
            changes=int(self._visits.changed.sum()),
            at_end=_mean_freshness(at_end),
            policies={name: _mean_freshness(expected) for name, expected in policies.items()},
            hosts=self._hosts(at_end, policies[self._policy]),
        )

    def _hosts(self, at_end: PageFreshness, later: PageFreshness) -> list[dict[str, Any]]:
        """Sums and means for the hosts with the most pages."""
        numbers: dict[str, int] = {}
        for host in self._history.hosts:
            numbers.setdefault(host, len(numbers))
        names = list(numbers)
        of = np.fromiter((numbers[host] for host in self._history.hosts), np.int64)
        pages = np.bincount(of, minlength=len(names))
        visits, changes = self._counts()
        sums = {"visits": visits, "changes": changes, "visits_a_day": 1 / self._waits}
        means = {
            "freshness_at_end": at_end.freshness,
            "age_days_at_end": at_end.age_days,
            "freshness": later.freshness,
            "age_days": later.age_days,
        }
        columns = {name: _sums_by_group(of, values, len(names)) for name, values in sums.items()}
        for name, values in means.items():
            columns[name] = _sums_by_group(of, values, len(names)) / pages
        return [
            {
                "host": names[i],
                "pages": int(pages[i]),
                **{name: float(values[i]) for name, values in columns.items()},
            }
            for i in np.argsort(-pages, kind="stable")[:MOST_HOSTS].tolist()
        ]


def _sums_by_group(of: NDArray[Any], values: NDArray[Any], count: int) -> Floats:
    """The sum of the values in each of `count` groups. of: the group of each value."""
    return np.bincount(of, values, count).astype(np.float64, copy=False)


def _mean_freshness(expected: PageFreshness) -> dict[str, float]:
    """The means over all pages; 0 if there are none."""
    pages = max(1, len(expected.freshness))
    return {name: float(values.sum() / pages) for name, values in expected._asdict().items()}


def _time_of_days(days: float) -> datetime:
    """The time, limited to what a database and Python can represent."""
    return datetime.fromtimestamp(min(days, LAST_DAY) * SECONDS_A_DAY, UTC)

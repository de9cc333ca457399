"""A site that changes at known rates, crawled day by day: what watches, their notices and the
differences of runs tell is judged by what has changed, and estimated rates by the true ones; then
revisits are planned, and how fresh the pages stay is compared with what plans expect. `python -m
benchmarks.crawling.watched_site [--pages 2000 --days 10 --planned 10 --seed 1]`

All is done in one process, which serves the site, too. A day passes when all stored rows are moved
a day into the past. Needs a PostgreSQL with migrated tables; its crawl is kept.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, NamedTuple

import numpy as np
from django.contrib.auth.models import User
from django.db.models import F

from benchmarks.crawling.changing_site import (
    HOME,
    RATES,
    ChangingSite,
    changes_between,
    link_differences,
    served_site,
)
from benchmarks.report import Table, options
from benchmarks.scene.crawls import make_ready, to_the_end
from benchmarks.timer import MIB, Taken, timed
from crawling.datasets.catch_up import catch_up
from crawling.models import CrawlJob, Page, PlannedRevisit, RevisitPlan, Run
from crawling.previews.run_comparison import ChangeFilter, compare_runs
from crawling.runs.crawls.creation import create_crawl, free_name
from crawling.runs.crawls.revisions import edit_crawl
from crawling.runs.start import start_run
from crawling.uses.alerts.delivery import send_due_deliveries
from crawling.uses.alerts.listeners import save_listener
from crawling.uses.alerts.models import Listener
from crawling.uses.link_check.link_changes import all_link_changes
from crawling.uses.revisits.planner import plan_crawl
from crawling.uses.watches.comparing import compare_watched
from crawling.uses.watches.models import WatchEvent
from crawling.uses.watches.watching import WatchFields, create_watch
from tests.servers import Site, serve_site

#: the share of the pages visited a day once there is a budget, the runs a day, and the looks at
#: freshness a day
VISITED_A_DAY, RUNS_A_DAY, LOOKS = 0.1, 2, 5
#: the days that do not count: a plan counts earlier visits of up to a day, and a policy takes time
#: to show its effect
SETTLING_DAYS = 2
HOOK = "/hook"
LISTENER = "the watched site"


@dataclass
class Judged:
    """The numbers of expected reports that were made, of expected ones that were not, and of
    unexpected ones.
    """

    found: int = 0
    missing: int = 0
    wrong: int = 0

    def judge(self, told: Set[Any], true: Set[Any]) -> None:
        self.found += len(told & true)
        self.missing += len(true - told)
        self.wrong += len(told - true)


@dataclass
class Judgement:
    """The judgement of all runs."""

    #: the results, by the source of reports
    told: defaultdict[str, Judged] = field(default_factory=lambda: defaultdict(Judged))
    #: the times, by what takes them
    taken: defaultdict[str, list[Taken]] = field(default_factory=lambda: defaultdict(list))

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        with timed() as taken:
            yield
        self.taken[what].append(taken)

    def print(self) -> None:
        table = Table("found", "missing", "wrong", "what tells")
        for what, each in self.told.items():
            table.row(each.found, each.missing, each.wrong, what)
        table = Table("clock s", "CPU s", "what takes it")
        for what, some in self.taken.items():
            table.row(sum(one.clock for one in some), sum(one.here for one in some), what)


class FollowedPlan(NamedTuple):
    #: the mean share of the pages that are the same as stored, as measured and as the last plan
    #: expects
    fresh: float
    expected: float
    #: requests a day for pages that exist
    requests: float


class WatchedCrawl:
    """A crawl of the site with a watch for each section. A server on loopback receives the
    notices.
    """

    def __init__(self, site: ChangingSite, server: Site, hooks: Site) -> None:
        self.site, self._server, self._hooks = site, server, hooks
        self.judgement = Judgement()
        seed = f"{server.url}{HOME}"
        order = {"name": free_name("watched site"), "seeds": [seed], "delay_seconds": 0}
        self.crawl: CrawlJob = create_crawl(order)
        _listen(f"{hooks.url}{HOOK}")
        sections = {path.rpartition("/")[0] for path in site.paths}
        for kind, text in [("page", seed), *(("pattern", f"{one}/") for one in sorted(sections))]:
            create_watch(self.crawl, WatchFields(kind, text, ignore_numbers=True), by=None)
        self._before, self._state = self._crawl_to_the_end(), site.state()

    def _crawl_to_the_end(self) -> Run:
        judgement = self.judgement
        with judgement.timed("crawl"):
            run = to_the_end(start_run(self.crawl))
        assert run.state == "finished", run.reason
        with judgement.timed("links of pages"):
            catch_up(run.pk)
        with judgement.timed("watches"):
            compare_watched(self.crawl.pk)
        return run

    def pass_day(self) -> set[tuple[str, str]]:
        """Let a day pass, crawl, and judge the reports. Return the changes."""
        self.site.pass_days(1)
        pass_days(self.crawl, 1)
        run, state = self._crawl_to_the_end(), self.site.state()
        changed = changes_between(self._state, state)
        self._judge(run, changed, link_differences(self._state, state))
        self._before, self._state = run, state
        return changed

    def _judge(
        self, run: Run, changed: set[tuple[str, str]], links: set[tuple[str, str, str]]
    ) -> None:
        events = WatchEvent.objects.filter(run=run).values_list("kind", "url")
        self.judgement.told["events of watches"].judge(
            {(kind, self._path(url)) for kind, url in events}, changed
        )
        self.judgement.told["notices by webhook"].judge(self._new_notices(), changed)
        # a number that changes is no change to these watches, but one to a comparison of content
        both = {path for path in self._before_paths if self.site.counts_visitors(path)}
        counted = {("changed", path) for path in both if path in self._now_paths}
        self.judgement.told["pages of two runs compared"].judge(
            self._changes_by_comparison(run), changed | counted
        )
        with self.judgement.timed("links compared"):
            found = _link_changes(self._before, run)
        told = {(self._path(page), change, self._path(target)) for page, change, target in found}
        self.judgement.told["links of two runs compared"].judge(told, links)

    @property
    def _before_paths(self) -> Set[str]:
        return self._state.texts.keys()

    @property
    def _now_paths(self) -> Set[str]:
        return self.site.state().texts.keys()

    def _new_notices(self) -> set[tuple[str, str]]:
        """The notices that the server has received since the last call."""
        at = len(self._hooks.log)
        with self.judgement.timed("notices"):
            while send_due_deliveries():
                pass
        facts = [json.loads(request.body) for request in self._hooks.log[at:]]
        words = {"page changed": "changed", "page gone": "gone", "new page": "new"}
        return {(words[one["event"]], self._path(url)) for one in facts for url in one["urls"]}

    def _changes_by_comparison(self, run: Run) -> set[tuple[str, str]]:
        with self.judgement.timed("pages compared"):
            wanted = ChangeFilter(limit=len(self.site.paths) + 1)
            rows = compare_runs(self._before, run, wanted, by=None).rows or []
        found = set()
        for row in rows:
            was, is_ = row.old_status == 200, row.new_status == 200
            # otherwise it is missing in both, and another page links to it or does not
            if was or is_:
                kind = "changed" if was and is_ else "gone" if was else "new"
                found.add((kind, self._path(row.url)))
        return found

    def _path(self, url: str) -> str:
        return url.removeprefix(self._server.url)

    def plan(self, policy: str) -> None:
        """Give the crawl its budget, and make the plan."""
        budget = round(VISITED_A_DAY * len(self.site.paths))
        edit_crawl(self.crawl, {"visits_a_day": budget, "visit_policy": policy})
        self.crawl.refresh_from_db()
        self._plan_revisits()

    def _plan_revisits(self) -> dict[str, Any]:
        with self.judgement.timed("plan of revisits"):
            plan_crawl(self.crawl.pk)
        return dict(RevisitPlan.objects.get(crawl=self.crawl).policies)

    def follow_plan(self, days: int) -> FollowedPlan:
        """Crawl by the plan for some days, after those that do not count."""
        policies: dict[str, Any] = {}
        fresh: list[float] = []
        requests, step = 0, 1 / RUNS_A_DAY / LOOKS
        for number in range((SETTLING_DAYS + days) * RUNS_A_DAY):
            counts = number >= SETTLING_DAYS * RUNS_A_DAY
            for _ in range(LOOKS):
                self.site.pass_days(step)
                fresh += [1 - self.site.stale().mean()] * counts
            pass_days(self.crawl, 1 / RUNS_A_DAY)
            known = self.site.served.keys() & self.site.state().texts.keys()
            at = len(self._server.log)
            self._crawl_to_the_end()
            requests += counts * sum(one.path in known for one in self._server.log[at:])
            policies = self._plan_revisits()
        expected = policies[self.crawl.order.reuse.visit_policy]["freshness"]
        return FollowedPlan(float(np.mean(fresh)), expected, requests / days)

    def rates(self) -> Iterator[tuple[float, int, float, str]]:
        """The true rates, with their number of pages, the estimate, and the share of intervals that
        contain the truth.
        """
        rows = {self._path(row.url): row for row in PlannedRevisit.objects.filter(crawl=self.crawl)}
        for rate in RATES:
            mine = [
                rows[path]
                for path, its in zip(self.site.paths, self.site.rates, strict=True)
                if its == rate and path in rows and not self.site.counts_visitors(path)
            ]
            estimated = float(np.median([row.rate for row in mine]))
            inside = np.mean([row.low <= rate <= row.high for row in mine])
            yield rate, len(mine), estimated, f"{inside:.1%}"


def pass_days(crawl: CrawlJob, days: float) -> None:
    """Move all stored data of a crawl into the past by some days."""
    earlier = timedelta(days=days)
    Page.objects.filter(run__crawl=crawl).update(fetched_at=F("fetched_at") - earlier)
    PlannedRevisit.objects.filter(crawl=crawl).update(
        visited_at=F("visited_at") - earlier, next_at=F("next_at") - earlier
    )


def _listen(url: str) -> None:
    user, _ = User.objects.get_or_create(username="watched", is_superuser=True, is_staff=True)
    Listener.objects.filter(name=LISTENER).delete()
    events = ["page changed", "page gone", "new page"]
    save_listener({"name": LISTENER, "url": url, "events": events}, by=user)


def _link_changes(old: Run, new: Run) -> set[tuple[str, str, str]]:
    return {(row["page"], row["change"], row["target"]) for row in all_link_changes(old, new)}


@contextmanager
def watched_crawl(pages: int, seed: int) -> Iterator[WatchedCrawl]:
    """Yield a crawl of the site whose first run is over."""
    make_ready()
    site = ChangingSite(pages, seed)
    with serve_site({HOOK: (204, {}, "")}) as hooks, served_site(site) as server:
        yield WatchedCrawl(site, server, hooks)


def main() -> None:
    asked = options(__doc__, pages=2000, days=10, planned=10, seed=1)
    with timed() as taken, watched_crawl(asked.pages, asked.seed) as watched:
        for day in range(1, asked.days + 1):
            counts = Counter(kind for kind, _ in watched.pass_day())
            print(f"day {day}: {dict(sorted(counts.items()))}", flush=True)
        watched.judgement.print()
        watched.plan("optimal")
        table = Table("changes", "pages", "estimated", "in the interval; changes a day, medians")
        for row in watched.rates():
            table.row(*row)
        for policy in ("optimal", "uniform"):
            watched.plan(policy)
            played = watched.follow_plan(asked.planned)
            print(
                f"{policy}: {played.fresh:.1%} of the pages fresh, {played.expected:.1%} expected "
                f"in the long run; {played.requests:.0f} revisits a day",
                flush=True,
            )
    print(f"{taken.memory / MIB:.0f} MiB more at most than at the start")


if __name__ == "__main__":
    main()

"""Reads crawls for the list page, the command line and JSON, in a fixed number of queries for any
number of crawls.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Max, Prefetch, Q
from django.utils import timezone

from allocation.snapshot import WaitRow
from allocation.wording import whole_number
from crawling.base.errors import UnknownCrawl
from crawling.dashboard.base.schedule import schedule_texts
from crawling.frontier import RunCounts, counts_of
from crawling.frontier.run_limits import reached_limit
from crawling.models import CrawlJob, Run, RunProcess, Shift
from crawling.models.jobs import ENDED_STATES, WORKING_STATES, RunState
from crawling.runs.transitions import possible_actions
from crawling.runs.verbs import Verb, offered_verbs
from crawling.runs.wait_reason import NextHostQueue, WaitReason, wait_reasons

NOT_STARTED = "Not started yet."


@dataclass(frozen=True)
class CrawlView:
    """A crawl and its latest run."""

    id: int
    name: str
    seeds: Sequence[str]
    tags: Sequence[str]
    #: the user who created it; empty for the command line and for a deleted user
    owner: str
    team: str
    #: empty for the default pool
    pool: str
    #: the run's number within the crawl
    run: int | None
    run_id: int | None
    #: the run's state; `draft` before the first run, and `waiting` while the run waits for
    #: resources
    state: str
    reason: str
    counts: RunCounts
    #: the answers that count towards the limit of pages
    pages: int
    #: whether the run has ended at a limit that is still in force
    is_at_limit: bool
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    #: the automatic starts, in words; empty if the crawl has no schedule, or if the schedule was
    #: not read
    schedule_text: str = ""

    @property
    def seconds(self) -> float | None:
        """The duration of the run, beginning with its first fetch."""
        if self.started_at is None:
            return None
        return ((self.finished_at or timezone.now()) - self.started_at).total_seconds()

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing is fetched until an operator acts."""
        return self.finished_at is not None or self.state in ("draft", "paused")

    @property
    def is_complete(self) -> bool:
        """Whether the run has fetched all URLs that it could, however strict its limits were."""
        return self.state == RunState.FINISHED and not self.counts.queued

    @property
    def pages_per_second(self) -> float | None:
        return self.counts.fetched / self.seconds if self.seconds else None

    def as_dict(self) -> dict[str, Any]:
        """The fields for JSON, without nesting, with times in ISO 8601."""
        counts = asdict(self.counts)
        times = {name: getattr(self, name) for name in ("created_at", "started_at", "finished_at")}
        return {
            "id": self.id,
            "name": self.name,
            "seeds": list(self.seeds[:10]),
            "tags": list(self.tags),
            "owner": self.owner,
            "team": self.team,
            "pool": self.pool,
            "run": self.run,
            "state": self.state,
            "reason": self.reason,
            "schedule_text": self.schedule_text,
            **counts,
            **{name: moment.isoformat() if moment else None for name, moment in times.items()},
            "seconds": self.seconds and round(self.seconds, 3),
            "pages_per_second": self.pages_per_second and round(self.pages_per_second, 1),
        }


def verbs_of(view: CrawlView, run: Run | None) -> dict[str, Verb]:
    """The verbs that a user may apply to a crawl now, by word, the likeliest first. run: the latest
    run, which the view shows.
    """
    if run is None:
        return offered_verbs(["start"], has_run=False)
    is_aborting = run.aborted_at is not None
    words = possible_actions(run.state, queued=view.counts.queued, is_aborting=is_aborting)
    return offered_verbs(words, has_run=True, is_at_limit=view.is_at_limit)


def find_crawl(name_or_id: str) -> CrawlJob:
    """The crawl with this name or number. Raises UnknownCrawl."""
    number = whole_number(name_or_id)
    by_number = Q() if number is None else Q(pk=number)
    # a terminal may send lone surrogates, which no name contains
    by_name = Q(name=name_or_id.encode(errors="replace").decode())
    crawl = (
        CrawlJob.objects.filter(by_name | by_number if by_number else by_name)
        .order_by("pk")
        .first()
    )
    if crawl is None:
        raise UnknownCrawl(f"There is no crawl {name_or_id!r}; `crawl list` shows those there are.")
    return crawl


def prefetched_shifts(place: str) -> Prefetch[str]:
    """The shifts that lease hosts, with the names of their crawls. Each shift is read once, since
    it may lease very many hosts.
    """
    # The runs are read by their ids, since a join from shifts might read all runs that ever
    # existed.
    runs = Prefetch("process__run", Run.objects.select_related("crawl").only("crawl__name"))
    shifts = Shift.objects.select_related("process").prefetch_related(runs)
    return Prefetch(place, shifts.only("ended_at", "process__run"))


def crawl_view(crawl: CrawlJob) -> CrawlView:
    return crawl_views([crawl])[0]


def run_view(
    run: Run,
    *,
    waits: Mapping[int, WaitRow] | None = None,
    processes: Sequence[RunProcess] | None = None,
    hosts: Sequence[NextHostQueue] | None = None,
    counts: RunCounts | None = None,
    explains: bool = True,
) -> CrawlView:
    """The view of a crawl with one of its runs, not always the latest.

    waits, processes, hosts, explains: see `wait_reasons`. counts: the counts of the run, if the
    caller has read them already.
    """
    is_working = run.state in WORKING_STATES
    idle = (
        wait_reasons([run], waits=waits, processes=processes, hosts=hosts, explains=explains)
        if is_working
        else {}
    )
    counted = {run.pk: counts} if counts else counts_of([run.pk])
    return _view(run.crawl, run, counted, idle, _owners([run.crawl]))


def crawl_views(
    crawls: Sequence[CrawlJob],
    *,
    idle: Mapping[int, WaitReason] | None = None,
    latest: Iterable[Run] | None = None,
) -> list[CrawlView]:
    """Views in the given order.

    idle: the result of `wait_reasons` for all their active runs, if known. latest: their latest
    runs, if the caller has already read them.
    """
    by_id = {crawl.pk: crawl for crawl in crawls}
    latest = _latest_runs(by_id) if latest is None else latest
    runs = {run.crawl_id: run for run in latest}
    for run in runs.values():
        # the crawl is not read a second time, since it has twenty JSON fields
        run.crawl = by_id[run.crawl_id]
    counts = counts_of([run.pk for run in runs.values()])
    if idle is None:
        idle = wait_reasons([run for run in runs.values() if run.state in WORKING_STATES])
    owners, texts = _owners(crawls), schedule_texts(by_id)
    views = [_view(crawl, runs.get(crawl.pk), counts, idle, owners) for crawl in crawls]
    return [replace(view, schedule_text=texts.get(view.id, "")) for view in views]


def _latest_runs(crawls: Collection[int]) -> Iterable[Run]:
    latest = (
        Run.objects.filter(crawl__in=list(crawls))
        .values("crawl")
        .annotate(latest=Max("pk"))
        .values("latest")
    )
    return Run.objects.filter(pk__in=latest)


def _owners(crawls: Sequence[CrawlJob]) -> dict[int | None, str]:
    by = CrawlJob._meta.get_field("created_by")
    known = [crawl.created_by for crawl in crawls if by.is_cached(crawl) and crawl.created_by]
    names: dict[int | None, str] = {user.pk: user.get_username() for user in known}
    ids = {pk for crawl in crawls if (pk := crawl.created_by_id) is not None and pk not in names}
    if ids:
        names |= User.objects.filter(pk__in=ids).values_list("pk", "username")
    return names


def _view(
    crawl: CrawlJob,
    run: Run | None,
    counts: dict[int, RunCounts],
    idle: Mapping[int, WaitReason],
    owners: Mapping[int | None, str],
) -> CrawlView:
    if run is None:
        state, reason = "draft", NOT_STARTED
    else:
        state, reason = idle.get(run.pk, WaitReason(run.state, run.reason))
    told = counts[run.pk] if run else RunCounts()
    return CrawlView(
        id=crawl.pk,
        name=crawl.name,
        seeds=crawl.seeds,
        tags=crawl.tags,
        owner=owners.get(crawl.created_by_id, ""),
        team=crawl.team,
        pool=crawl.pool,
        run_id=run.pk if run else None,
        run=run.number if run else None,
        state=state,
        reason=reason,
        counts=told,
        pages=told.pages if crawl.requisites else told.fetched,
        is_at_limit=run is not None
        and run.state in ENDED_STATES
        and reached_limit(run, told) is not None,
        created_at=crawl.created_at,
        started_at=run.started_at if run else None,
        finished_at=run.finished_at if run else None,
    )

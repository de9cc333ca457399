"""All facts that the page of a crawl shows about one run."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from crawling.dashboard.base.crawl_views import CrawlView, crawl_view, run_view, verbs_of
from crawling.dashboard.pages.filter import PageFilter
from crawling.dashboard.pages.rendering_filter import RenderingSummary
from crawling.dashboard.pages.trap_patterns import TrapView, undecided_patterns
from crawling.dashboard.run.crawl_settings import importance_rules
from crawling.dashboard.run.diagnosis import stall_of
from crawling.dashboard.run.hosts import SOME, HostRow, first_hosts, host_rows
from crawling.dashboard.run.log import LogFilter, LogWindow, log_before
from crawling.dashboard.run.moved_seeds import MovedSeed, moved_seeds
from crawling.dashboard.run.numbers import RunNumbers, numbers_of, rows_of
from crawling.dashboard.run.pages import pages_of
from crawling.dashboard.run.processes import (
    FetchThreadRow,
    ProcessHoldings,
    fetch_threads_of,
    holdings_and_waits,
    steps_of,
)
from crawling.dashboard.run.rates import FetchRates, rates_of
from crawling.models import CrawlJob, Page, Run, RunStatusCount, Shift, TrapPattern, UrlState
from crawling.models.jobs import ENDED_STATES, WORKING_STATES
from crawling.orders.fields import fields_of
from crawling.orders.order import PARTS
from crawling.orders.ranking import Order
from crawling.orders.scope.scope import Reach
from crawling.runs.diagnosis import Stall
from crawling.runs.endings import sites_of_one_text
from crawling.runs.failure_causes import FailureCause, failure_causes
from crawling.runs.verbs import Verb, offered_verbs
from crawling.web.statuses import NOT_MODIFIED_STATUS, status_sentence

#: two estimates are shown as one if their ratio is at most this
CLOSE = 1.25
UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
CAUSES = 10
RUNS = SHIFTS = TRAPS = 10
#: the number of lines in the log's tail
LINES = 50


@dataclass(frozen=True)
class StatusRow:
    state: str
    status: int
    urls: int
    #: the beginning of the row on a bar of length 100
    start: float
    #: the length of the row on that bar
    width: float
    #: the percentage with one decimal, rounded so that all rows add up to 100.0
    percent: float

    @property
    def sentence(self) -> str:
        return status_sentence(self.status)

    @property
    def kind(self) -> str:
        if self.state == UrlState.EXCLUDED:
            return "excluded"
        return f"{self.status // 100}xx" if self.status > 0 else "none"


def status_rows(run: Run) -> list[StatusRow]:
    found = RunStatusCount.objects.filter(run=run, urls__gt=0)
    return status_rows_of(found.values_list("state", "status", "urls"))


def status_rows_of(found: Iterable[tuple[str, int, int]]) -> list[StatusRow]:
    """The counts by status: HTTP's in order, then ours. found: state, status and number of URLs."""
    counts = list(found)
    counts.sort(key=lambda count: (count[1] < 0, abs(count[1])))
    total = sum(urls for _, _, urls in counts)
    rows, start = [], 0.0
    for (state, status, urls), tenths in zip(
        counts, shares_of_whole([urls for *_, urls in counts], 1000), strict=True
    ):
        width = 100 * urls / total
        rows.append(StatusRow(state, status, urls, round(start, 3), round(width, 3), tenths / 10))
        start += width
    return rows


def shares_of_whole(parts: Sequence[int], whole: int) -> list[int]:
    """Divide `whole` units in proportion to the parts, by largest remainder. Of parts with equal
    remainders, the earlier one comes first.
    """
    total = sum(parts)
    rounded = [whole * part // total for part in parts]
    by_remainder = sorted(range(len(parts)), key=lambda place: -(whole * parts[place] % total))
    for place in by_remainder[: whole - sum(rounded)]:
        rounded[place] += 1
    return rounded


def remaining_in_words(
    *, known: int, pages: int, fetched: int, most: int | None, rates: tuple[float | None, ...]
) -> str:
    """The work that remains, in words. known: the number of URLs that wait or are being fetched.
    pages: of the fetched URLs, the number that counts towards the limit `most`. rates: of all
    answers.
    """
    moving = [rate for rate in rates if rate]
    # the files of the remaining pages are fetched, too
    answers_a_page = fetched / pages if pages else 1
    to_limit = round(max(0, most - pages) * answers_a_page) if most is not None else None
    left = known if to_limit is None else min(known, to_limit)
    if not moving or not left:
        return ""
    quickest, slowest = left / max(moving), left / min(moving)
    shortest, longest = duration_in_words(quickest, to=5), duration_in_words(slowest, to=5)
    count, unit = shortest.split()
    least = count if longest.endswith(unit) else shortest
    is_one = slowest <= CLOSE * quickest or shortest == longest
    span = longest if is_one else f"{least} to {longest}"
    what = (
        "to the limit on pages"
        if to_limit is not None and to_limit <= known
        else "for the URLs found so far"
    )
    return f"About {span} {what}."


def duration_in_words(seconds: float, *, to: int = 1) -> str:
    """A time, rounded, in the largest unit of which it has at least one and a half: `90 seconds`,
    `2 minutes`, `36 hours`. A time above ten units is rounded to a multiple of `to`.
    """
    size, unit = next(((size, unit) for size, unit in UNITS if seconds >= 1.5 * size), UNITS[-1])
    count = max(1, round(seconds / size))
    count = count if count <= 10 else to * round(count / to)
    return f"{count:,} {unit}{'s' if count > 1 else ''}"


@dataclass(frozen=True)
class RunOverview:
    crawl: CrawlJob
    view: CrawlView
    #: the verbs that the crawl's state allows; empty for a run that is not the latest
    verbs: Mapping[str, Verb]
    run: Run | None = None
    runs: Sequence[Run] = ()
    rates: FetchRates | None = None
    statuses: Sequence[StatusRow] = ()
    causes: Sequence[FailureCause] = ()
    hosts: Sequence[HostRow] = ()
    numbers: RunNumbers | None = None
    pages: Sequence[Page] = ()
    log: LogWindow = field(default_factory=lambda: LogWindow((), None))
    dealings: Sequence[ProcessHoldings] = ()
    shifts: Sequence[Shift] = ()
    traps: Sequence[TrapView] = ()
    #: patterns with many pages that repeat the text of other pages
    alike: Sequence[TrapPattern] = ()
    moved: Sequence[MovedSeed] = ()
    fetch_threads: Sequence[FetchThreadRow] = ()
    renderings: RenderingSummary | None = None
    #: the number of pages that servers confirmed to be unchanged since an earlier run
    not_modified: int = 0

    @property
    def is_latest(self) -> bool:
        return not self.runs or self.run == self.runs[0]

    @property
    def done(self) -> int:
        counts = self.view.counts
        return counts.succeeded + counts.failed + counts.excluded

    @property
    def failed_percent(self) -> float:
        return 100 * self.view.counts.failed / (self.done or 1)

    @property
    def remaining(self) -> str:
        if self.rates is None or self.run is None or self.run.state not in WORKING_STATES:
            return ""
        counts, rates = self.view.counts, (self.rates.now, self.view.pages_per_second)
        return remaining_in_words(
            known=counts.queued + counts.in_process,
            pages=self.view.pages,
            fetched=counts.fetched,
            most=self.crawl.max_pages,
            rates=rates,
        )

    @property
    def waiting(self) -> ProcessHoldings | None:
        """The first process of the run that waits without a shift, or in a shift for a document in
        hand.
        """
        waiting = (process for process in self.dealings if process.wait)
        return next(
            (process for process in waiting if self.view.state == "waiting" or process.stage), None
        )

    @property
    def is_alive(self) -> bool:
        return self.run is not None and self.run.state not in ENDED_STATES

    @property
    def is_working(self) -> bool:
        """Whether the run fetches, or will fetch as soon as a host is due. False while it is paused
        or waits.
        """
        return self.view.state in WORKING_STATES

    @property
    def steps(self) -> list[tuple[str, int]]:
        return steps_of(self.fetch_threads)

    @property
    def more_runs(self) -> bool:
        return len(self.runs) == RUNS

    @property
    def commands(self) -> list[str]:
        """The commands with the same effects as the page's buttons."""
        name = shlex.quote(self.crawl.name)
        said = [f"python manage.py crawl {verb} {name}" for verb in (*self.verbs, "show")]
        failed = (
            [f"python manage.py crawl retry {name}"]
            if self.view.counts.failed and self.is_latest
            else []
        )
        return [*said, *failed, f"python manage.py crawl log {name} --follow"]

    @property
    def has_processes(self) -> bool:
        return any(shift.process.number for shift in self.shifts)

    @property
    def order_command(self) -> str:
        crawl, filters = self.crawl, self.crawl.order.filters
        options = {
            "--scope": crawl.scope if crawl.scope != Reach.HOST else None,
            "--order": crawl.visit_order if crawl.visit_order != Order.BREADTH_FIRST else None,
            "--max-pages": crawl.max_pages,
            "--max-depth": crawl.max_depth,
            "--max-bytes": crawl.max_bytes,
            "--max-seconds": crawl.max_seconds,
            "--delay": f"{crawl.delay_seconds:g}",
            "--processes": crawl.processes or None,
            "--priority": crawl.priority or None,
        }
        rendering = crawl.order.rendering
        options["--render"] = rendering.render if rendering.render != "never" else None
        options |= self._numbers_of_parts()
        given = [f"{name} {value}" for name, value in options.items() if value is not None]
        given += [
            flag
            for flag, is_set in (
                ("--obey-nofollow", crawl.obey_nofollow),
                ("--requisites", crawl.requisites),
                ("--cookies", crawl.order.fetching.cookies),
                ("--idle-only", crawl.idle_only),
            )
            if is_set
        ]
        given += self._ordering_options()
        given += [
            f"--{name} {shlex.quote(text)}"
            for name, texts in (("include", filters.include), ("exclude", filters.exclude))
            for text in texts
        ]
        given += [
            f"--render-rule {shlex.quote(f'{text}={choice}')}"
            for text, choice in rendering.render_rules.items()
        ]
        given += [
            f"--extract {shlex.quote(f'{name}={selector}')}"
            for name, selector in crawl.extract.items()
        ]
        seeds = [shlex.quote(seed) for seed in crawl.seeds[:3]] + (
            ["…"] if len(crawl.seeds) > 3 else []
        )
        return " ".join(["python manage.py crawl", *seeds, "--name NAME", *given])

    def _numbers_of_parts(self) -> dict[str, int]:
        """The options for parts of the order that have numbers other than the default ones."""
        return {
            option: value
            for option, column, name, usual in _number_options()
            if (value := getattr(getattr(self.crawl.order, column), name)) != usual
        }

    def _ordering_options(self) -> list[str]:
        ordering = self.crawl.order.ordering
        given = [
            f"--importance {shlex.quote(f'{text}={weight}')}"
            for text, weight in importance_rules(self.crawl)
        ]
        return [
            *given,
            *(f"--topic {shlex.quote(line)}" for line in ordering.topic),
            *(["--exact-order"] if ordering.exact_order else []),
            *(["--path-ascending"] if ordering.path_ascending else []),
        ]


@cache
def _number_options() -> tuple[tuple[str, str, str, Any], ...]:
    """Each option with a number, the part and the field of the order that it sets, and its
    default.
    """
    return tuple(
        (one.question.option, column, one.name, one.default)
        for column in ("filters", "budget", "rendering", "reuse")
        for one in fields_of(PARTS[column])
        if one.question.option and one.kind is int
    )


def empty_page(crawl: CrawlJob) -> RunOverview:
    return RunOverview(crawl, crawl_view(crawl), verbs=offered_verbs(["start"], has_run=False))


def latest_runs(crawl: CrawlJob) -> list[Run]:
    """The runs that the page of a crawl lists, the latest first."""
    return list(crawl.runs.all()[:RUNS])


def run_page(
    run: Run, runs: Sequence[Run], lines: LogFilter, *, before: int | None
) -> tuple[RunOverview, Stall | None]:
    """The page of a run, with the lines of its log that match a filter, and the reason why the run
    is not fetching.

    runs: the result of `latest_runs`. Takes a bounded number of queries, since rows that several
    parts need are read once.
    """
    rows, numbers = rows_of(run), numbers_of(run)
    statuses = status_rows_of(numbers.statuses)
    dealings, live = holdings_and_waits(run, rows), rows.live_shifts
    view = run_view(
        run,
        waits={one.process: one.wait for one in dealings if one.wait},
        processes=() if live else rows.processes,
        hosts=rows.next_hosts if run.state in WORKING_STATES else (),
        counts=rows.counts,
    )
    wait = next((one.wait for one in dealings if one.wait), None)
    page = RunOverview(
        crawl=run.crawl,
        view=view,
        verbs=verbs_of(view, run) if run == runs[0] else {},
        run=run,
        runs=runs,
        rates=rates_of(run, is_live=bool(live), fetched=rows.counts.fetched),
        statuses=statuses,
        causes=failure_causes(
            run, most=CAUSES, counts=[(row.state, row.status, row.urls) for row in statuses]
        ),
        numbers=numbers,
        hosts=host_rows(run, first_hosts(run, SOME), is_fetching=bool(live)),
        pages=pages_of(run, PageFilter(), most=SOME).pages,
        log=log_before(run, lines, before=before, most=LINES),
        dealings=dealings,
        shifts=rows.shifts[:SHIFTS],
        moved=moved_seeds(run) if numbers.has_moved_seeds else (),
        traps=undecided_patterns(run, most=TRAPS) if rows.counts.quarantined else (),
        alike=sites_of_one_text(run) if numbers.has_sites_of_one_text else (),
        fetch_threads=fetch_threads_of(live),
        renderings=RenderingSummary.of(run, pages=view.pages),
        not_modified=sum(row.urls for row in statuses if row.status == NOT_MODIFIED_STATUS),
    )
    return page, stall_of(run, wait, rows)

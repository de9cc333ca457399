"""The reasons why a URL was fetched or not: the current rules, the frontier and the findings of
each crawl about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from crawling.dashboard.base.known_addresses import known_address
from crawling.frontier import filters_of_run, limit_reached
from crawling.frontier.admit.crawl_rules import current_blocklist, revision_of_key
from crawling.frontier.change.rejudgement import ruling_of_row
from crawling.frontier.due_queues import RunSeeds, seeds_of_runs
from crawling.frontier.run_limits import soft_limit_reached
from crawling.models import (
    CrawlJob,
    InquiryKind,
    Page,
    RobotsException,
    RobotsFile,
    Run,
    TrapPattern,
    Url,
    UrlState,
    Verdict,
)
from crawling.models.jobs import ENDED_STATES
from crawling.orders.scope.blocklist import Blocklist
from crawling.orders.scope.filters import Rule, Ruling
from crawling.orders.scope.trap_patterns import hold_reason
from crawling.previews.inquiries import ask_once
from crawling.web.addresses import Address, canonical_address, fingerprints
from crawling.web.outages import read_outages
from crawling.web.statuses import MOST_REDIRECTS, is_answer, is_redirect, status_sentence

#: the most crawls that are considered, beginning with the newest
MOST_CRAWLS = 50


@dataclass(frozen=True, slots=True)
class DecisionFact:
    #: rule, verdict, frontier, robots, duplicate, redirect, quarantine, rendering or budget
    about: str
    #: the fact, followed by the address or the moment, if it has one
    sentence: str
    url: str = ""
    at: datetime | None = None
    #: whether a background job will soon complete this fact
    is_pending: bool = False


@dataclass(frozen=True, slots=True)
class UrlDecision:
    crawl: CrawlJob
    run: Run | None
    #: the URL's state in the latest run; `kept out`, `never met` or `not started` without one
    met: str
    #: the rule that decides about the URL now
    rule: str
    #: the place of the rule
    number: int
    #: whether the rules admit the URL now
    admits: bool
    facts: Sequence[DecisionFact]

    @property
    def is_pending(self) -> bool:
        return any(fact.is_pending for fact in self.facts)


@dataclass(frozen=True, slots=True)
class UrlDecisionFacts:
    """The facts that are read once for all crawls."""

    blocklist: Blocklist
    robots: Sequence[DecisionFact]
    #: the latest run of each crawl, by the crawl's id
    runs: Mapping[int, Run]
    #: the row of the URL, by the run's id
    rows: Mapping[int, Url]
    #: the verdict on the URL, by the run's id; none for a run that has no verdict on it
    verdicts: Mapping[int, Verdict]
    #: the seeds of each run, and their redirect targets
    seeds: Mapping[int, RunSeeds]
    #: crawls that the host's robots.txt does not bind
    excepted: frozenset[int]


def decisions_about(text: str, *, crawl: CrawlJob | None = None) -> tuple[str, list[UrlDecision]]:
    """The URL in its canonical form, and the facts about it from one crawl, or from each of the
    latest crawls.

    Raises BadUrl.
    """
    address = known_address(text)
    crawls = [crawl] if crawl else list(CrawlJob.objects.all()[:MOST_CRAWLS])
    common = _common_facts(address, crawls)
    return address.url, [_answer(job, address, common) for job in crawls]


def _common_facts(address: Address, crawls: Sequence[CrawlJob]) -> UrlDecisionFacts:
    runs = {
        run.crawl_id: run
        for run in Run.objects.filter(crawl__in=crawls, is_latest=True).select_related("crawl")
    }
    here = {
        "run__in": runs.values(),
        "fingerprint__in": fingerprints(address.url),
        "url": address.url,
    }
    rows = Url.objects.filter(**here).select_related("queue__host", "page")
    excepted = RobotsException.objects.filter(
        crawl__in=crawls, host=address.host_key, expires_at__gt=timezone.now()
    )
    return UrlDecisionFacts(
        blocklist=current_blocklist(address),
        robots=list(_robots_facts(address)),
        runs=runs,
        rows={row.run_id: row for row in rows},
        verdicts={verdict.run_id: verdict for verdict in Verdict.objects.filter(**here)},
        seeds=seeds_of_runs([run.pk for run in runs.values()]),
        excepted=frozenset(excepted.values_list("crawl", flat=True)),
    )


def _answer(crawl: CrawlJob, address: Address, common: UrlDecisionFacts) -> UrlDecision:
    run = common.runs.get(crawl.pk)
    if run is None:
        return _answer_before_start(crawl, address, common)
    row, verdict = common.rows.get(run.pk), common.verdicts.get(run.pk)
    filters = filters_of_run(crawl, run, blocklist=common.blocklist, seeds=common.seeds[run.pk])
    if row:
        ruling = ruling_of_row(row, filters)
    else:
        depth, hops = (verdict.depth, verdict.hops) if verdict else (1, 0)
        ruling = filters.judge(address, depth=depth, hops=hops, is_seed=address.url in crawl.seeds)
    facts = [DecisionFact("rule", _describe_rule(ruling, f"revision {crawl.revision}"))]
    facts += _scope_facts(run, verdict) if verdict and not row else ()
    facts += _url_facts(run, row) if row else ()
    facts += common.robots
    if crawl.pk in common.excepted:
        facts.append(
            DecisionFact(
                "robots",
                f"An administrator has excepted {address.host_key}: this crawl ignores its "
                "robots.txt.",
            )
        )
    facts += _budget_facts(run, row)
    return _describe_decision(
        crawl,
        run,
        UrlState(row.state).label if row else "excluded by a rule" if verdict else "not found",
        ruling,
        facts,
    )


def _answer_before_start(
    crawl: CrawlJob, address: Address, common: UrlDecisionFacts
) -> UrlDecision:
    ruling = filters_of_run(crawl, blocklist=common.blocklist).judge(
        address, depth=1, is_seed=address.url in crawl.seeds
    )
    sentence = _describe_rule(ruling, "as a link on a start page")
    return _describe_decision(crawl, None, "not started", ruling, [DecisionFact("rule", sentence)])


def _row(run: Run, url: str) -> Url | None:
    rows = Url.objects.filter(run=run, fingerprint__in=fingerprints(url), url=url)
    return rows.select_related("queue__host", "page").first()


def _url(url_id: int | None) -> str:
    """A URL by its id; "" if it does not exist."""
    row = Url.objects.filter(pk=url_id).first() if url_id is not None else None
    return row.url if row else ""


def _describe_decision(
    crawl: CrawlJob, run: Run | None, met: str, ruling: Ruling, facts: Sequence[DecisionFact]
) -> UrlDecision:
    return UrlDecision(crawl, run, met, ruling.rule.value, ruling.rule.number, ruling.admits, facts)


def _describe_rule(ruling: Ruling, case: str) -> str:
    said = (
        f"{'Allowed' if ruling.admits else 'Excluded'} by rule {ruling.rule.number} "
        f"({ruling.rule.words}), {case}"
    )
    return f"{said}: {ruling.sentence}." if ruling.sentence else f"{said}."


def _scope_facts(run: Run, verdict: Verdict) -> Iterator[DecisionFact]:
    rule = Rule(verdict.rule)
    pages = f"{verdict.links:,} page{'s' * (verdict.links != 1)}"
    yield DecisionFact(
        "verdict",
        f"Found on {pages} and excluded by rule {rule.number} ({rule.words}), revision "
        f"{revision_of_key(verdict.revision)}: {verdict.sentence}.",
    )
    if via := _url(verdict.via):
        yield DecisionFact("verdict", "First found on:", via)


def _url_facts(run: Run, row: Url) -> Iterator[DecisionFact]:
    """The facts about a URL in the run's frontier, from there and from the findings."""
    yield from _queue_facts(run, row)
    if via := _url(row.via):
        yield DecisionFact(
            "frontier",
            "Redirected from:" if row.redirects else f"Found at depth {row.depth} on:",
            via,
        )
    pattern = (
        TrapPattern.objects.filter(run=run, key=row.pattern).first()
        if row.pattern is not None
        else None
    )
    if row.state == UrlState.QUARANTINED and pattern:
        yield DecisionFact(
            "quarantine",
            f"It waits for an operator's decision on {pattern.pattern}: "
            f"{hold_reason(pattern.rule or 'yield')}.",
        )
    page: Page | None = getattr(row, "page", None)
    if page and (original := _url(page.duplicate_of)):
        yield DecisionFact(
            "duplicate",
            "Its content equals that of a page fetched before:",
            original,
        )
    if page and page.why_rendering:
        yield DecisionFact("rendering", page.why_rendering)
    if page and page.lacks_browser:
        yield DecisionFact("rendering", "The page needs a browser: scripts make its content.")
    if page and is_redirect(page.status):
        yield from _chain(run, page)


def _queue_facts(run: Run, row: Url) -> Iterator[DecisionFact]:
    if run.crawl.is_focused:
        yield DecisionFact(
            "similarity",
            f"To the topic {row.expected_similarity:.2f} of 1 is expected: half by the page with "
            "the link that is most like it, half by that link's own text and address.",
        )
    tries = f"{row.attempts:,} attempt{'s' * (row.attempts != 1)}"
    said = row.error or (status_sentence(row.status) if row.status is not None else "")
    if row.state == UrlState.QUEUED:
        queue = row.queue
        at = row.due_at if row.due_at and row.due_at > timezone.now() else None
        outage = read_outages(queue.origin_outages).get(canonical_address(row.url).origin)
        after = f" After {tries} it failed for now: {said}" if row.attempts and said else ""
        after = f" {outage.sentence}" if outage else after
        until = " It is fetched at the earliest:" if at else ""
        yield DecisionFact(
            "frontier",
            f"Queued, with {queue.queued:,} in all on {queue.host.name}.{after}{until}",
            at=at,
        )
    elif row.state == UrlState.IN_PROCESS:
        yield DecisionFact("frontier", f"A work session is fetching it, attempt {row.attempts:,}.")
    elif row.state != UrlState.QUARANTINED:
        became = UrlState(row.state).label.capitalize()
        yield DecisionFact("frontier", f"{became} after {tries}{f': {said}' if said else '.'}")


def _chain(run: Run, page: Page) -> Iterator[DecisionFact]:
    """The targets of the URL's redirect, one after the other, as far as the run has fetched
    them.
    """
    seen = {page.url.url}
    for _ in range(MOST_REDIRECTS):
        target = page.final_url
        met = _row(run, target)
        became = UrlState(met.state).label if met else "not queued"
        yield DecisionFact(
            "redirect", f"It redirects ({page.status}) to a URL that is {became}:", target
        )
        following: Page | None = getattr(met, "page", None) if met else None
        if following is None or not is_redirect(following.status) or target in seen:
            return
        seen.add(target)
        page = following


def _robots_facts(address: Address) -> Iterator[DecisionFact]:
    """The verdict of robots.txt on the URL. A background job reads the file, since a stranger wrote
    it.
    """
    files = RobotsFile.objects.filter(origin=address.origin)
    file = files.values("status", "fetched_at").first()
    if file is None:
        yield DecisionFact(
            "robots", f"The robots.txt of {address.origin} has not been fetched yet."
        )
        return
    name, status, at = f"{address.origin}/robots.txt", file["status"], file["fetched_at"]
    if not is_answer(status):
        said = (
            f"could not be fetched ({status_sentence(status).rstrip('.')}), so nothing may be "
            "fetched yet"
        )
    elif status // 100 == 4:
        said = f"allows it, since there is none ({status_sentence(status)})"
    else:
        question = {"url": address.url, "fetched_at": at.isoformat()}
        inquiry = ask_once(InquiryKind.ROBOTS, question, by=None)
        if inquiry.is_open:
            said = "is being read in the background, which takes a moment"
            yield DecisionFact("robots", f"{name} {said}. It was fetched:", at=at, is_pending=True)
            return
        trouble = f"could not be explained: {inquiry.why_failed.rstrip('.')}"
        said = inquiry.answer["said"] if inquiry.answer else trouble
    yield DecisionFact("robots", f"{name} {said}. It was fetched:", at=at)


def _budget_facts(run: Run, row: Url | None) -> Iterator[DecisionFact]:
    if (hard := limit_reached(run)) and run.state in ENDED_STATES:
        yield DecisionFact("budget", hard)
    if soft := soft_limit_reached(run):
        yield DecisionFact("budget", f"{soft.capitalize()}: no new URL is accepted.")
    budget = {
        name: most
        for name, most in run.crawl.budget.items()
        if name.startswith(("host_", "domain_max_pages")) and most is not None
    }
    if row and budget:
        queue = row.queue
        limits = ", ".join(f"{name} {most:,}" for name, most in budget.items())
        yield DecisionFact(
            "budget",
            f"On {queue.host.name} {queue.pages:,} pages with {queue.bytes:,} bytes were fetched; "
            f"limits on each host: {limits}.",
        )

"""The limits that end a run before its frontier is empty, or keep new URLs out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

from django.db.models import Count, Q
from django.template.defaultfilters import filesizeformat
from django.utils import timezone

from crawling.frontier.exclusion import exclude
from crawling.frontier.types import Candidate
from crawling.models import HostQueue, Run, RunState, RunTotal, Url, UrlState
from crawling.orders.sections.budget import Limits
from crawling.scope.filters import Rule
from crawling.web.public_suffixes import domain_of
from crawling.web.statuses import FetchStatus

#: rules by which a limit kept URLs out
BUDGETS = (Rule.BUDGET, Rule.HOST_BUDGET, Rule.DOMAIN_BUDGET)


def is_complete(run: Run) -> bool:
    """Whether it has found all that it could: a page that it does not know is linked no more."""
    return (
        run.state == RunState.FINISHED
        and not run.queues.filter(queued__gt=0).exists()
        and not run.verdict_counts.filter(rule__in=BUDGETS).exists()
    )


def pages_left(run: Run) -> int | None:
    """How many more pages the run may fetch, those in process counted as fetched; None without a
    limit.
    """
    if run.crawl.max_pages is None:
        return None
    in_process = run.urls.filter(
        state=UrlState.IN_PROCESS, shift__isnull=False, shift__process__run=run
    ).count()
    return max(0, run.crawl.max_pages - _total(run, "fetched") - in_process)


def limit_reached(run: Run) -> str:
    """The sentence of the hard limit that the run has reached, or nothing.

    That on pages is exact: no more are claimed than it leaves, and what is in process then comes to
    its end. The others may be passed by what is being fetched when they are reached."""
    crawl = run.crawl
    reached = _reached(run, crawl.max_pages, crawl.max_bytes, crawl.max_seconds)
    return f"The limit of {reached} is reached; the frontier holds more." if reached else ""


def soft_limit_reached(run: Run) -> str:
    """The part of a sentence that names the soft limit that the run has reached, or nothing."""
    reached = _reached(run, *run.crawl.order.budget.soft)
    return f"the soft limit of {reached} is reached" if reached else ""


def _reached(run: Run, pages: int | None, size: int | None, seconds: int | None) -> str:
    """The first of these limits that the run has reached, in words."""
    if pages is not None and _total(run, "fetched") >= pages:
        return f"{pages:,} pages"
    if size is not None and _total(run, "bytes") >= size:
        return filesizeformat(size)
    if (
        seconds is not None
        and run.started_at
        and (timezone.now() - run.started_at).total_seconds() >= seconds
    ):
        return f"{seconds:,} seconds"
    return ""


def _total(run: Run, column: str) -> int:
    return int(RunTotal.objects.filter(run=run).values_list(column, flat=True).first() or 0)


#: what the URLs of a host end with whose limit, or that of whose domain, is reached
CLOSED = (FetchStatus.HOST_BUDGET, FetchStatus.DOMAIN_BUDGET)
#: URLs of a host that are excluded in one transaction; the others follow with the next claims
MOST_EXCLUDED = 5_000


def spent(limits: Limits, now: datetime) -> Q | None:
    """An SQL condition for queues that have reached a limit of hosts; None without such limits."""
    reached = Q()
    if limits.pages:
        reached |= Q(pages__gte=limits.pages)
    if limits.bytes:
        reached |= Q(bytes__gte=limits.bytes)
    if limits.seconds:
        reached |= Q(began_at__lte=now - timedelta(seconds=limits.seconds))
    return reached or None


def within_host_budget(run: Run, wanted: Mapping[int, int]) -> dict[int, int]:
    """How many URLs each queue may give, which loses what it has once the limit of its host, or of
    its domain, is reached.

    The caller holds the run's lock.

    The limits on pages are exact: what is in process counts as had.
    """
    return _within_domains(run, _within_hosts(run, wanted))


def _within_hosts(run: Run, wanted: Mapping[int, int]) -> dict[int, int]:
    reached = spent(run.crawl.order.budget.host_max, timezone.now())
    if reached is None or not wanted:
        return dict(wanted)
    closed = {
        queue.pk: queue
        for queue in HostQueue.objects.select_related("host").filter(
            reached, run=run, pk__in=wanted
        )
    }
    for queue in closed.values():
        had = f"{queue.host.name}: {queue.pages:,} pages, {queue.bytes:,} bytes"
        _close(queue, FetchStatus.HOST_BUDGET, had)
    return {
        queue: count for queue, count in _pages_left(run, wanted).items() if queue not in closed
    }


def _close(queue: HostQueue, status: FetchStatus, had: str) -> None:
    """Exclude what a queue has, some of it at a time."""
    waiting = (
        Url.objects.filter(queue=queue, state=UrlState.QUEUED)
        .order_by("lane", "rank", "pk")
        .values_list("pk", flat=True)
    )
    sentence = f"{status.sentence} ({had})"
    exclude(queue.run_id, dict.fromkeys(waiting[:MOST_EXCLUDED], sentence), status)


def _pages_left(run: Run, wanted: Mapping[int, int]) -> dict[int, int]:
    most = run.crawl.order.budget.host_max_pages
    if not most:
        return dict(wanted)
    had = dict(run.queues.filter(pk__in=wanted).values_list("pk", "pages"))
    held = _in_process(wanted)
    return {
        queue: max(0, min(count, most - had[queue] - held.get(queue, 0)))
        for queue, count in wanted.items()
    }


def _in_process(queues: Collection[int]) -> dict[int, int]:
    """How many URLs of each queue are being fetched."""
    in_process = Url.objects.filter(
        queue__in=queues, state=UrlState.IN_PROCESS, shift__isnull=False
    ).values_list("queue")
    return dict(in_process.annotate(n=Count("pk")))


def _within_domains(run: Run, wanted: Mapping[int, int]) -> dict[int, int]:
    """The same for the limit on pages of each registrable domain, which its hosts share."""
    most = run.crawl.order.budget.domain_max_pages
    if not most or not wanted:
        return dict(wanted)
    mine = {queue.pk: queue for queue in run.queues.filter(pk__in=wanted).exclude(domain="")}
    queues = run.queues.filter(domain__in={queue.domain for queue in mine.values()})
    rows = list(queues.values_list("pk", "domain", "pages"))
    held = _in_process([queue for queue, _, _ in rows])
    done: Counter[str] = Counter()
    left: dict[str, int] = {}
    for queue_id, domain, pages in rows:
        done[domain] += pages
        left[domain] = left.get(domain, most) - pages - held.get(queue_id, 0)
    limits = {}
    for queue_id, count in wanted.items():
        queue = mine.get(queue_id)
        if queue is None:  # a literal address has no domain
            limits[queue_id] = count
        elif done[queue.domain] >= most:
            _close(
                queue, FetchStatus.DOMAIN_BUDGET, f"{queue.domain}: {done[queue.domain]:,} pages"
            )
        else:
            limits[queue_id] = max(0, min(count, left[queue.domain]))
            left[queue.domain] -= limits[queue_id]
    return limits


def hosts_kept_out(run: Run, links: Sequence[Candidate]) -> dict[str, tuple[Rule, str]]:
    """The links' hosts that the run must not begin with, each with the rule and a sentence.

    Of new hosts those that were found first are let in. The caller holds the run's lock.
    """
    if not links:
        return {}
    budget = run.crawl.order.budget
    hosts = {link.address.host_key: link.address.hostname for link in links}
    known = set(run.queues.filter(host__name__in=hosts).values_list("host__name", flat=True))
    new = {host: name for host, name in hosts.items() if host not in known}
    kept_out = _beyond_domains(run, new, budget.domain_max_hosts)
    in_all = budget.max_hosts
    if in_all is not None and new.keys() - kept_out.keys():
        room = max(0, in_all - run.queues.count())
        sentence = f"the limit of {in_all:,} host{'s' * (in_all != 1)} is reached"
        for host in [host for host in new if host not in kept_out][room:]:
            kept_out[host] = (Rule.CRAWL_HOSTS, sentence)
    return kept_out


def _beyond_domains(run: Run, new: Mapping[str, str], most: int) -> dict[str, tuple[Rule, str]]:
    domains = {host: domain_of(name) for host, name in new.items()}
    if not any(domains.values()):
        return {}
    of_them = run.queues.filter(domain__in=set(domains.values()) - {""})
    had = dict(of_them.values_list("domain").annotate(n=Count("pk")))
    beyond = {}
    for host, domain in domains.items():
        had[domain] = had.get(domain, 0) + 1
        if domain and had[domain] > most:
            beyond[host] = (Rule.DOMAIN_BUDGET, f"the limit of hosts is reached for {domain}")
    return beyond

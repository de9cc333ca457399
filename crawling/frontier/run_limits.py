"""What ends a run before its frontier is empty, and what keeps new URLs out of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from django.db.models import Count, Q
from django.template.defaultfilters import filesizeformat
from django.utils import timezone

from crawling.frontier.exclusion import exclude
from crawling.frontier.types import Candidate
from crawling.models import HostQueue, Run, RunTotal, Url, UrlState
from crawling.scope.filters import Rule
from crawling.scope.scope import domain_of
from crawling.web.statuses import FetchStatus


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
    budget = run.crawl.budget
    reached = _reached(
        run, budget.get("soft_pages"), budget.get("soft_bytes"), budget.get("soft_seconds")
    )
    return f"the soft limit of {reached} is reached" if reached else ""


def in_vain(run: Run) -> str:
    """The sentence for a run that has nothing to show for itself; empty for one that has."""
    total = RunTotal.objects.filter(run=run).first()
    if total is None or total.succeeded:
        return ""
    became = {
        "failed": total.failed,
        "excluded": total.excluded,
        "held back as traps": total.quarantined,
    }
    parts = [f"{count:,} {word}" for word, count in became.items() if count]
    urls = f"{total.discovered:,} URL{'s' * (total.discovered != 1)}"
    return f"Nothing was fetched with success: of {urls}, {', '.join(parts) or 'none was tried'}."


def ending_of(run: Run) -> str:
    """What to say of a run with nothing left to fetch: whether limits kept anything out."""
    kept_out = set(run.verdict_counts.values_list("rule", flat=True))
    if Rule.BUDGET in kept_out and (reached := soft_limit_reached(run)):
        return (
            f"{reached.capitalize()}: no address that was found after that was let in, and all "
            "known before are done."
        )
    closed = (
        run.urls.filter(state=UrlState.EXCLUDED, status=FetchStatus.HOST_BUDGET)
        .values("queue")
        .distinct()
        .count()
    )
    if closed:
        return (
            f"Every URL in scope is done, but for those on {closed:,} host{'s' * (closed != 1)} "
            "whose limit was reached."
        )
    if Rule.DOMAIN_BUDGET in kept_out:
        return "Every URL that was let in is done; the limit of hosts on a domain kept others out."
    if Rule.HOST_BUDGET in kept_out:
        return "Every URL that was let in is done; a soft limit on each host kept others out."
    held = (
        RunTotal.objects.filter(run=run, quarantined__gt=0)
        .values_list("quarantined", flat=True)
        .first()
    )
    return (
        f"Every URL in scope is done, but for {held:,} held back as traps."
        if held
        else "Every URL in scope is done."
    )


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


#: URLs of a host that are excluded in one transaction; the others follow with the next claims
MOST_EXCLUDED = 5_000


def spent(budget: Mapping[str, int | None], level: str, now: datetime) -> Q | None:
    """What is true of a host's queue that has reached a limit; None: there are none.

    level: `host_max` or `host_soft`.
    """
    reached = Q()
    if pages := budget.get(f"{level}_pages"):
        reached |= Q(pages__gte=pages)
    if size := budget.get(f"{level}_bytes"):
        reached |= Q(bytes__gte=size)
    if seconds := budget.get(f"{level}_seconds"):
        reached |= Q(began_at__lte=now - timedelta(seconds=seconds))
    return reached or None


def within_host_budget(run: Run, wanted: Mapping[int, int]) -> dict[int, int]:
    """How many URLs each queue may give, which loses what it has once its host's limit is reached.

    The caller holds the run's lock.

    The limit on pages is exact: what is in process counts as had.
    """
    reached = spent(run.crawl.budget, "host_max", timezone.now())
    if reached is None or not wanted:
        return dict(wanted)
    closed = {
        queue.pk: queue
        for queue in HostQueue.objects.select_related("host").filter(
            reached, run=run, pk__in=wanted
        )
    }
    for queue in closed.values():
        sentence = (
            f"{FetchStatus.HOST_BUDGET.sentence} ({queue.host.name}: {queue.pages:,} pages, "
            f"{queue.bytes:,} bytes)"
        )
        waiting = (
            Url.objects.filter(queue=queue, state=UrlState.QUEUED)
            .order_by("lane", "rank", "pk")
            .values_list("pk", flat=True)
        )
        exclude(run.pk, dict.fromkeys(waiting[:MOST_EXCLUDED], sentence), FetchStatus.HOST_BUDGET)
    return {
        queue: count for queue, count in _pages_left(run, wanted).items() if queue not in closed
    }


def _pages_left(run: Run, wanted: Mapping[int, int]) -> dict[int, int]:
    most = run.crawl.budget.get("host_max_pages")
    if not most:
        return dict(wanted)
    had = dict(run.queues.filter(pk__in=wanted).values_list("pk", "pages"))
    in_process = Url.objects.filter(
        queue__in=wanted, state=UrlState.IN_PROCESS, shift__isnull=False
    ).values_list("queue")
    held = dict(in_process.annotate(n=Count("pk")))
    return {
        queue: max(0, min(count, most - had[queue] - held.get(queue, 0)))
        for queue, count in wanted.items()
    }


def beyond_domains(run: Run, links: Sequence[Candidate]) -> dict[str, str]:
    """The links' hosts that the run must not begin with, each with its domain.

    Of new hosts those that were found first are let in. The caller holds the run's lock.
    """
    most = run.crawl.budget.get("domain_max_hosts")
    if most is None or not links:
        return {}
    hosts = {link.address.host_key: link.address.hostname for link in links}
    known = set(run.queues.filter(host__name__in=hosts).values_list("host__name", flat=True))
    domains = {host: domain_of(name) for host, name in hosts.items() if host not in known}
    if not any(domains.values()):
        return {}
    of_them = run.queues.filter(domain__in=set(domains.values()) - {""})
    had = dict(of_them.values_list("domain").annotate(n=Count("pk")))
    beyond = {}
    for host, domain in domains.items():
        had[domain] = had.get(domain, 0) + 1
        if domain and had[domain] > most:
            beyond[host] = domain
    return beyond

"""The sentences about a run's end: its pages, and the URLs that its limits and its traps kept
out.
"""

from __future__ import annotations

from django.db.models import F

from crawling.frontier.run_limits import CLOSED, soft_limit_reached
from crawling.models import Run, RunTotal, TrapPattern, UrlState
from crawling.orders.scope.filters import Rule
from crawling.orders.scope.trap_gate import TrapState
from crawling.orders.scope.trap_patterns import ONE_TEXT

#: the least number and share of a site's pages that say what others say
LEAST_ALIKE, LEAST_SHARE = 10, 3
#: such sites that are shown, and told at the end of a run
MOST_SITES, MOST_TOLD = 10, 3


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
    """The sentence for a run with nothing left to fetch: whether limits kept anything out."""
    kept_out = set(run.verdict_counts.values_list("rule", flat=True))
    if Rule.BUDGET in kept_out and (reached := soft_limit_reached(run)):
        return (
            f"{reached.capitalize()}: no URL found after that was accepted, and all found before "
            f"are done."
        )
    closed = (
        run.urls.filter(state=UrlState.EXCLUDED, status__in=CLOSED)
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
        return "Every accepted URL is done; others were excluded by the limit of hosts per domain."
    if Rule.CRAWL_HOSTS in kept_out:
        return "Every accepted URL is done; others were excluded by the limit of hosts."
    if Rule.HOST_BUDGET in kept_out:
        return "Every accepted URL is done; others were excluded by a soft limit per host."
    held = (
        RunTotal.objects.filter(run=run, quarantined__gt=0)
        .values_list("quarantined", flat=True)
        .first()
    )
    if held:
        return f"Every URL in scope is done, but for {held:,} held back as traps."
    told = map(one_text_told, sites_of_one_text(run)[:MOST_TOLD])
    return " ".join(["Every URL in scope is done.", *told])


def sites_of_one_text(run: Run) -> list[TrapPattern]:
    """The sites of which many pages say what others say, without those that are held for it."""
    alike = F("fetched") - F("fresh")
    return list(
        TrapPattern.objects.filter(run=run, rule=ONE_TEXT, fetched__lte=LEAST_SHARE * alike)
        .filter(fetched__gte=F("fresh") + LEAST_ALIKE)
        .exclude(state=TrapState.QUARANTINED)
        .order_by("pk")[:MOST_SITES]
    )


def one_text_told(site: TrapPattern) -> str:
    return f"{site.alike:,} of {site.fetched:,} pages of {site.pattern} say only what others say."

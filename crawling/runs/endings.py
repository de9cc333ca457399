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
from crawling.runs.failure_causes import FailureCause, causes_without_samples

#: the least number and share of a site's pages that say what others say; of a site whose pages are
#: what they seem some may do so, too
LEAST_ALIKE, LEAST_SHARE = 10, 2
#: such sites that are shown, and told at the end of a run
MOST_SITES, MOST_TOLD = 10, 3
#: the end of a run that no limit kept anything from
ALL_DONE = "Every URL in scope is done."
#: words of ours that begin the sentence of a cause, and may stand in the middle of one
OPENING = frozenset({"A", "An", "More", "No", "Reading", "The", "Unpacking"})


def in_vain(run: Run) -> str:
    """The sentence for a run that has nothing to show for itself; empty for one that has."""
    total = RunTotal.objects.filter(run=run).first()
    if total is None or total.succeeded:
        return ""
    causes = causes_without_samples(run)
    if causes:
        return f"No page could be fetched: {_commonest(causes)}"
    held = total.quarantined
    urls = f"{total.discovered:,} URL{'s' * (total.discovered != 1)}"
    why = f"{held:,} of {urls} are held back as traps" if held else f"none of {urls} was tried"
    return f"No page could be fetched: {why}."


def _commonest(causes: list[FailureCause]) -> str:
    """The sentence of the cause that most URLs have, in the middle of one; of several causes with
    the share that it has.
    """
    first = max(causes, key=lambda cause: cause.urls)
    word, space, rest = first.sentence.rstrip(".").partition(" ")
    told = f"{word.lower() if word in OPENING else word}{space}{rest}"
    if len(causes) == 1:
        return f"{told}."
    return f"{told} ({first.urls:,} of {sum(cause.urls for cause in causes):,} URLs)."


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
    return " ".join([ALL_DONE, *told])


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
    place = site.pattern.removesuffix("/…")
    return f"{site.alike:,} of {site.fetched:,} pages of {place} have the same text as others."

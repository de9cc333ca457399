"""The sentences about a run's end: its pages, and the URLs that its limits and traps excluded."""

from __future__ import annotations

from django.db.models import F

from crawling.frontier.run_limits import CLOSED, soft_limit_reached
from crawling.models import Run, RunTotal, TrapPattern, UrlState
from crawling.orders.scope.filters import Rule
from crawling.orders.scope.trap_gate import TrapState
from crawling.orders.scope.trap_patterns import ONE_TEXT
from crawling.runs.failure_causes import FailureCause, causes_without_samples

#: the least number of a site's pages that repeat a text, and the divisor for their least share; a
#: few pages of an ordinary site may repeat texts, too
LEAST_ALIKE, LEAST_SHARE = 10, 2
#: the most such sites that a page shows, and that the sentence about a run's end names
MOST_SITES, MOST_TOLD = 10, 3
#: the end of a run if no limit excluded any URL
ALL_DONE = "Every URL in scope is done."
#: words of ours that begin a sentence about a cause; inside another sentence they may be written in
#: lower case
OPENING = frozenset({"A", "An", "More", "No", "Reading", "The", "Unpacking"})


def failure_sentence(run: Run) -> str:
    """The sentence for a run without any result; empty for other runs."""
    total = RunTotal.objects.filter(run=run).first()
    if total is None or total.succeeded:
        return ""
    causes = causes_without_samples(run)
    if causes:
        return f"No page could be fetched: {_most_common_cause(causes)}"
    held = total.quarantined
    urls = f"{total.discovered:,} URL{'s' * (total.discovered != 1)}"
    why = f"{held:,} of {urls} are held back as traps" if held else f"none of {urls} was tried"
    return f"No page could be fetched: {why}."


def _most_common_cause(causes: list[FailureCause]) -> str:
    """The most common cause, as a part of a sentence. If there are several causes, the share of
    this one is included.
    """
    first = max(causes, key=lambda cause: cause.urls)
    word, space, rest = first.sentence.rstrip(".").partition(" ")
    told = f"{word.lower() if word in OPENING else word}{space}{rest}"
    if len(causes) == 1:
        return f"{told}."
    return f"{told} ({first.urls:,} of {sum(cause.urls for cause in causes):,} URLs)."


def ending_sentence(run: Run) -> str:
    """The sentence about the end of a run with nothing left to fetch. It names the limits that
    excluded URLs.
    """
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
    told = map(repeated_text_sentence, sites_of_one_text(run)[:MOST_TOLD])
    return " ".join([ALL_DONE, *told])


def sites_of_one_text(run: Run) -> list[TrapPattern]:
    """The sites on which many pages repeat the text of other pages, without the sites that are
    quarantined for this reason.
    """
    alike = F("fetched") - F("fresh")
    return list(
        TrapPattern.objects.filter(run=run, rule=ONE_TEXT, fetched__lte=LEAST_SHARE * alike)
        .filter(fetched__gte=F("fresh") + LEAST_ALIKE)
        .exclude(state=TrapState.QUARANTINED)
        .order_by("pk")[:MOST_SITES]
    )


def repeated_text_sentence(site: TrapPattern) -> str:
    place = site.pattern.removesuffix("/…")
    return f"{site.alike:,} of {site.fetched:,} pages of {place} have the same text as others."

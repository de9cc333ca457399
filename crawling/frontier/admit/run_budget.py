"""Soft limits (SEEDS B11): when one is reached no new URL is let in, and what is known is
finished."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils import timezone

from crawling.frontier.admit.schedule import unseen
from crawling.frontier.run_limits import hosts_kept_out, soft_limit_reached, spent
from crawling.frontier.types import Candidate, Refusal
from crawling.models import Run
from crawling.scope.filters import Rule


def within_budget(run: Run, links: Sequence[Candidate]) -> tuple[list[Candidate], list[Refusal]]:
    """The admitted links, and the limit that excludes the others.

    The caller holds the run's lock.
    """
    links, refusals = _within_softly(run, links)
    beyond = hosts_kept_out(run, links)
    if not beyond:
        return links, refusals
    kept_out = unseen(run.pk, [link for link in links if link.address.host_key in beyond])
    for link in kept_out:
        rule, sentence = beyond[link.address.host_key]
        refusals.append(_refusal(link, rule, sentence))
    return [link for link in links if link.address.host_key not in beyond], refusals


def _within_softly(run: Run, links: Sequence[Candidate]) -> tuple[list[Candidate], list[Refusal]]:
    crawl_wide = soft_limit_reached(run)
    of_hosts = spent(run.crawl.budget, "host_soft", timezone.now())
    if not links or (not crawl_wide and of_hosts is None):
        return list(links), []
    if crawl_wide:
        return [], [_refusal(link, Rule.BUDGET, crawl_wide) for link in unseen(run.pk, links)]
    names = {link.address.host_key for link in links}
    full = (
        set(run.queues.filter(of_hosts, host__name__in=names).values_list("host__name", flat=True))
        if of_hosts
        else set()
    )
    kept_out = unseen(run.pk, [link for link in links if link.address.host_key in full])
    sentence = "the soft limit on each host is reached for {}"
    refusals = [
        _refusal(link, Rule.HOST_BUDGET, sentence.format(link.address.host_key))
        for link in kept_out
    ]
    return [link for link in links if link.address.host_key not in full], refusals


def _refusal(link: Candidate, rule: Rule, sentence: str) -> Refusal:
    return Refusal(link.address.url, rule, sentence, link.depth, max(0, link.hops - 1), link.via)

"""Keep links out of a run whose soft limit is reached (SEEDS B11): then what is known is finished;
and those to new hosts where limits leave no room for these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db.models import Count

from crawling.frontier.admit.schedule import unseen
from crawling.frontier.host_budgets import softly_spent_hosts
from crawling.frontier.run_limits import soft_limit_reached
from crawling.frontier.types import Candidate, Refusal
from crawling.models import Run
from crawling.orders.scope.filters import Rule
from crawling.web.public_suffixes import domain_of


def within_budget(run: Run, links: Sequence[Candidate]) -> tuple[list[Candidate], list[Refusal]]:
    """The admitted links, and the limit that excludes the others.

    The caller holds the run's lock.
    """
    links, refusals = _within_softly(run, links)
    beyond = _hosts_kept_out(run, links)
    if not beyond:
        return links, refusals
    kept_out = unseen(run.pk, [link for link in links if link.address.host_key in beyond])
    for link in kept_out:
        rule, sentence = beyond[link.address.host_key]
        refusals.append(_refusal(link, rule, sentence))
    return [link for link in links if link.address.host_key not in beyond], refusals


def _within_softly(run: Run, links: Sequence[Candidate]) -> tuple[list[Candidate], list[Refusal]]:
    if not links:
        return [], []
    if crawl_wide := soft_limit_reached(run):
        return [], [_refusal(link, Rule.BUDGET, crawl_wide) for link in unseen(run.pk, links)]
    full = softly_spent_hosts(run, {link.address.host_key for link in links})
    if not full:
        return list(links), []
    kept_out = unseen(run.pk, [link for link in links if link.address.host_key in full])
    sentence = "the soft limit on each host is reached for {}"
    refusals = [
        _refusal(link, Rule.HOST_BUDGET, sentence.format(link.address.host_key))
        for link in kept_out
    ]
    return [link for link in links if link.address.host_key not in full], refusals


def _refusal(link: Candidate, rule: Rule, sentence: str) -> Refusal:
    return Refusal(link.address.url, rule, sentence, link.depth, max(0, link.hops - 1), link.via)


def _hosts_kept_out(run: Run, links: Sequence[Candidate]) -> dict[str, tuple[Rule, str]]:
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

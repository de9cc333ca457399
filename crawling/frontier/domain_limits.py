"""How many hosts of one registrable domain a run goes to."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Count

from crawling.frontier.types import Candidate
from crawling.models import Run
from crawling.scope.scope import domain_of


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

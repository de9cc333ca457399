"""Admit the links of recorded pages into the frontier, as far as the run's soft limits allow.

A batch, and a page with very many links, are admitted in parts, so that no transaction holds the
run's lock for long.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import Count

from crawling.frontier.admit.crawl_rules import rules_key
from crawling.frontier.admit.credits import credit_gains, return_unspent
from crawling.frontier.admit.quarantine import store_quarantined
from crawling.frontier.admit.refusals import store_refusals
from crawling.frontier.admit.schedule import (
    add_queues,
    count_links,
    schedule_urls,
    unseen_candidates,
)
from crawling.frontier.run_counts import FetchCounts, add_counts
from crawling.frontier.run_limits import hosts_at_soft_limit, soft_limit_reached
from crawling.frontier.run_lock import locked_run
from crawling.frontier.types import Candidate, Refusal, UrlOutcome
from crawling.models import Run, Shift, Url, UrlState
from crawling.orders.ranking import Order
from crawling.orders.scope.filters import Rule
from crawling.web.public_suffixes import domain_of


class LinkAdmission(NamedTuple):
    """The number of new URLs, the number of them that a trap caught, the known addresses, and the
    links to known addresses that are not counted yet.
    """

    new: int
    caught: int
    known: Collection[str]
    links: Mapping[str, int]


def admit_links(
    cursor: CursorWrapper,
    run: Run,
    outcomes: Sequence[UrlOutcome],
    ranks: Mapping[int, float],
    numbers: Sequence[int],
) -> LinkAdmission:
    """Queue the links of the pages, and record links that rules or the budget exclude.

    ranks: the pages' ranks, by the ids of their URLs. The caller holds the run's lock.
    """
    links, refusals = links_within_budget(
        run, [link for outcome in outcomes for link in outcome.links]
    )
    refusals += [refusal for outcome in outcomes for refusal in outcome.refusals]
    if refusals:
        store_refusals(cursor, run.pk, refusals, revision=rules_key(run.crawl))
    gains = credit_gains(cursor, run, outcomes, ranks)
    if trapped := [link for link in links if link.trap]:
        # both at once: hosts must be created in one order, or two runs may wait for each other
        add_queues(cursor, run.pk, links, numbers=numbers)
    wanted = [link for link in links if not link.trap]
    found = schedule_urls(run, wanted, numbers=numbers, gains=gains)
    caught, unspent = 0, found.unspent
    if trapped:
        caught, _, unspent = store_quarantined(cursor, run, trapped, numbers=numbers, gains=unspent)
    return_unspent(run, unspent)
    # best-first has counted links to waiting URLs, but no others
    counted = unspent if run.crawl.visit_order == Order.BEST_FIRST else count_links(wanted)
    met = {url: int(counted[url]) for url in found.known if url in counted}
    return LinkAdmission(found.new + caught, caught, found.known, met)


def remaining_links(outcome: UrlOutcome) -> UrlOutcome:
    """The page with only those links and refusals that `admit_first_links` leaves; unchanged if one
    transaction may have all of them.
    """
    if link_count(outcome) <= MOST_LINKS:
        return outcome
    first = _first_links(outcome)
    return replace(
        outcome,
        links=outcome.links[len(first.links) :],
        refusals=outcome.refusals[len(first.refusals) :],
    )


def admit_first_links(
    shift: Shift, outcome: UrlOutcome, numbers: Sequence[int]
) -> LinkAdmission | None:
    """Admit as many links of a page as one transaction may have, before the page itself is
    recorded. None if the shift no longer has its URL, or if the order of visits divides the page's
    credit among all its links at once.
    """
    with locked_run(shift.process.run_id) as run, connection.cursor() as cursor:
        is_ours = Url.objects.filter(pk=outcome.url_id, shift=shift, state=UrlState.IN_PROCESS)
        if run.crawl.visit_order == Order.OPIC or not is_ours.exists():
            return None
        found = admit_links(cursor, run, [_first_links(outcome)], {}, numbers)
        admitted = FetchCounts(discovered=found.new, quarantined=found.caught)
        add_counts(cursor, run.pk, admitted, process=shift.process.number)
    return found


def _first_links(outcome: UrlOutcome) -> UrlOutcome:
    links = outcome.links[:MOST_LINKS]
    return replace(outcome, links=links, refusals=outcome.refusals[: MOST_LINKS - len(links)])


def links_within_budget(
    run: Run, links: Sequence[Candidate]
) -> tuple[list[Candidate], list[Refusal]]:
    """The admitted links, and the limits that exclude the others.

    The caller holds the run's lock.
    """
    links, refusals = _within_soft_limits(run, links)
    beyond = _excluded_hosts(run, links)
    if not beyond:
        return links, refusals
    kept_out = unseen_candidates(
        run.pk, [link for link in links if link.address.host_key in beyond]
    )
    for link in kept_out:
        rule, sentence = beyond[link.address.host_key]
        refusals.append(_refuse_link(link, rule, sentence))
    return [link for link in links if link.address.host_key not in beyond], refusals


def _within_soft_limits(
    run: Run, links: Sequence[Candidate]
) -> tuple[list[Candidate], list[Refusal]]:
    if not links:
        return [], []
    if crawl_wide := soft_limit_reached(run):
        return [], [
            _refuse_link(link, Rule.BUDGET, crawl_wide) for link in unseen_candidates(run.pk, links)
        ]
    full = hosts_at_soft_limit(run, {link.address.host_key for link in links})
    if not full:
        return list(links), []
    kept_out = unseen_candidates(run.pk, [link for link in links if link.address.host_key in full])
    sentence = "the soft limit on each host is reached for {}"
    refusals = [
        _refuse_link(link, Rule.HOST_BUDGET, sentence.format(link.address.host_key))
        for link in kept_out
    ]
    return [link for link in links if link.address.host_key not in full], refusals


def _refuse_link(link: Candidate, rule: Rule, sentence: str) -> Refusal:
    return Refusal(link.address.url, rule, sentence, link.depth, max(0, link.hops - 1), link.via)


def _excluded_hosts(run: Run, links: Sequence[Candidate]) -> dict[str, tuple[Rule, str]]:
    """The links' hosts that the run must not add, each with the rule and a sentence.

    New hosts are admitted in the order in which they were found. The caller holds the run's lock.
    """
    if not links:
        return {}
    budget = run.crawl.order.budget
    hosts = {link.address.host_key: link.address.hostname for link in links}
    known = set(run.queues.filter(host__name__in=hosts).values_list("host__name", flat=True))
    new = {host: name for host, name in hosts.items() if host not in known}
    kept_out = _hosts_beyond_domain_limit(run, new, budget.domain_max_hosts)
    in_all = budget.max_hosts
    if in_all is not None and new.keys() - kept_out.keys():
        room = max(0, in_all - run.queues.count())
        sentence = f"the limit of {in_all:,} host{'s' * (in_all != 1)} is reached"
        for host in [host for host in new if host not in kept_out][room:]:
            kept_out[host] = (Rule.CRAWL_HOSTS, sentence)
    return kept_out


def _hosts_beyond_domain_limit(
    run: Run, new: Mapping[str, str], most: int
) -> dict[str, tuple[Rule, str]]:
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


#: the most links and refusals that are written in one transaction
MOST_LINKS = 5_000

Part = tuple[Sequence[UrlOutcome], Mapping[int, int]]


def split_by_links(outcomes: Sequence[UrlOutcome], lengths: Mapping[int, int]) -> Iterator[Part]:
    """The outcomes in as many parts as their links need. Each part has the lengths, by id, of the
    archive's files that are committed with it, up to the first document of the next part. So each
    document before a committed length has its page, and no page has a document beyond it.
    """
    if sum(map(link_count, outcomes)) <= MOST_LINKS:
        yield outcomes, lengths
        return
    part: list[UrlOutcome] = []
    links = 0
    for outcome in sorted(outcomes, key=_archive_place):
        if part and links + link_count(outcome) > MOST_LINKS:
            yield part, _lengths_before_place(_archive_place(outcome), lengths)
            part, links = [], 0
        part.append(outcome)
        links += link_count(outcome)
    yield part, lengths


def link_count(outcome: UrlOutcome) -> int:
    return len(outcome.links) + len(outcome.refusals)


def _archive_place(outcome: UrlOutcome) -> tuple[int, int]:
    """The file and offset of the outcome's document. Files are begun in the order of their ids."""
    place = outcome.captured.place if outcome.captured else None
    return (place.file_id, place.offset) if place else (0, 0)


def _lengths_before_place(place: tuple[int, int], lengths: Mapping[int, int]) -> dict[int, int]:
    file, offset = place
    before = {other: length for other, length in lengths.items() if other < file}
    return before | ({file: offset} if file in lengths else {})

"""Add seeds to a crawl, even while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.contrib.auth.models import User
from django.db import transaction

from allocation.wording import first_few_in_words
from crawling.base.audit import record_action
from crawling.base.errors import BadSeeds
from crawling.frontier import (
    add_seeds,
    filters_of_run,
    limit_reached,
    locked_run,
    rules_key,
    serving_process_numbers,
)
from crawling.frontier.admit.seeds import known_urls
from crawling.installation.run_log import write
from crawling.models import CrawlJob, OrderRevision, Run
from crawling.models.jobs import ENDED_STATES, WORKING_STATES, RunState
from crawling.orders.order import MAX_SEEDS
from crawling.orders.scope.filters import UrlFilters
from crawling.orders.seeds import read_seeds
from crawling.runs.crawls.fetching_section import origins_without_secrets
from crawling.runs.crawls.revisions import ADDED_SEEDS
from crawling.runs.grants import register_processes, request_shifts
from crawling.runs.seed_checks import NO_CONTACT, is_contact_missing, seed_mistakes
from crawling.runs.steering import reopen
from crawling.web.addresses import Address


@dataclass(frozen=True)
class AddedSeedsResult:
    #: new seeds of the order
    added: list[str]
    #: the number of addresses queued in the run. Without an active or resumed run it is None, and
    #: the addresses wait for the next run
    queued: int | None
    #: addresses that already were seeds, or URLs of the run, with their state
    known: dict[str, str]
    revision: int
    #: origins of added seeds to which no secret headers are sent, since the headers were given for
    #: other sites
    without_secrets: list[str] = field(default_factory=list)


def add_seeds_to_crawl(
    crawl: CrawlJob,
    texts: Sequence[str],
    *,
    by: User | None = None,
    widen: bool = False,
    resume: bool = False,
) -> AddedSeedsResult:
    """Make these addresses seeds of the crawl, and queue them in its run if the run is active.

    resume: if the latest run has ended, it continues with the new seeds, unless it has reached a
    limit. A second call with the same seeds changes nothing.

    Raises BadSeeds with all mistakes at once; the checks are those of an order's seeds. Without
    `widen`, an address outside the scope is refused, too, since a seed adds its host, directory or
    domain to the scope.
    """
    addresses, mistakes = read_seeds(texts)
    mistakes += seed_mistakes(addresses)
    if not mistakes and is_contact_missing(addresses):
        mistakes.append(f"a contact {NO_CONTACT}")
    if not texts:
        mistakes.append("needs at least one address, such as https://example.org/")
    with transaction.atomic():
        crawl = CrawlJob.objects.select_for_update(no_key=True).get(pk=crawl.pk)
        run = crawl.runs.first()
        new = _new_addresses(crawl, run, addresses, mistakes, widen=widen)
        known = {address.url: "a start URL already" for address in addresses if address not in new}
        if run is None or run.state == RunState.STOPPING:
            return _store_seeds(crawl, None, new, known, None, by)
        with locked_run(run.pk) as locked:
            has_ended = locked.state in ENDED_STATES
            if has_ended and not (resume and new and not limit_reached(locked)):
                return _store_seeds(crawl, None, new, known, None, by)
            met = known_urls(locked, new)
            known |= {url: _describe_state(state.label) for url, state in met.items()}
            queued = (
                add_seeds(locked, new, numbers=serving_process_numbers(locked.pk)) if new else 0
            )
            if has_ended and not queued:
                return _store_seeds(crawl, None, new, known, None, by)
            if has_ended:
                reopen(locked, "Waiting for a worker, to fetch added start URLs.")
            added = _store_seeds(crawl, locked, new, known, queued, by)
    if locked.state in WORKING_STATES:
        if has_ended:
            register_processes(locked)
        request_shifts(locked)
    return added


def _new_addresses(
    crawl: CrawlJob,
    run: Run | None,
    addresses: Sequence[Address],
    mistakes: list[str],
    *,
    widen: bool,
) -> list[Address]:
    """The addresses that are not seeds yet. Raises BadSeeds."""
    filters, seeds = filters_of_run(crawl, run), set(crawl.seeds)
    new = [address for address in addresses if address.url not in seeds]
    mistakes = mistakes + [
        sentence for address in new if (sentence := _refusal_of(filters, address))
    ]
    if len(seeds) + len(new) > MAX_SEEDS:
        mistakes.append(
            f"{crawl.name} has {len(seeds):,} start URLs, and at most {MAX_SEEDS:,} are accepted; "
            f"create another crawl for the rest"
        )
    outside = (
        [] if widen else [address.url for address in new if not filters.scope.reaches(address)]
    )
    if mistakes or outside:
        raise BadSeeds(mistakes, outside)
    return new


def _refusal_of(filters: UrlFilters, address: Address) -> str:
    ruling = filters.judge(address, depth=0, is_seed=True)
    return "" if ruling.admits else f"{address.url}: {ruling.sentence}"


def _describe_state(state: str) -> str:
    return f"met by this run already: {state}"


def _store_seeds(
    crawl: CrawlJob,
    run: Run | None,
    new: Sequence[Address],
    known: dict[str, str],
    queued: int | None,
    by: User | None,
) -> AddedSeedsResult:
    """Store the new seeds as a revision of the order; without new seeds, store nothing. The
    caller's transaction holds the crawl's lock.
    """
    added = [address.url for address in new]
    if not added:
        return AddedSeedsResult(added, queued, known, crawl.revision)
    without = origins_without_secrets(crawl, new)
    key, is_wider = (
        rules_key(crawl),
        not all(filters_of_run(crawl, run).scope.is_on_site(address) for address in new),
    )
    crawl.seeds = [*crawl.seeds, *added]
    crawl.revision += 1
    crawl.save(update_fields=["seeds", "revision"])
    OrderRevision.objects.create(
        crawl=crawl, number=crawl.revision, changes={ADDED_SEEDS: ([], added)}, by=by
    )
    record_action(
        by,
        crawl,
        "added start URLs",
        {
            "seeds": (len(crawl.seeds) - len(added), len(crawl.seeds)),
            "first": (None, added[0]),
            **({"without secrets": (None, first_few_in_words(without))} if without else {}),
        },
    )
    if run is not None:
        if not is_wider:  # so the waiting URLs need not be judged again
            Run.objects.filter(pk=run.pk, judged_by=key).update(judged_by=rules_key(crawl))
        count = f"{len(added):,} start URL{'s' if len(added) > 1 else ''}"
        write(
            run.pk,
            f"{count} added by {by or 'the command line'}: {queued:,} queued. The first: "
            f"{added[0]}",
        )
    return AddedSeedsResult(added, queued, known, crawl.revision, without)

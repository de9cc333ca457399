"""What the toes of a shift are equipped with: the crawl's order, and what the shift holds."""

from __future__ import annotations

from django.conf import settings
from django.utils import timezone

from crawling.allowlists import allowed_directories, allowed_networks, proxy_of, shared_networks
from crawling.documents.base import Reading
from crawling.fetchers.bandwidth import Bandwidth
from crawling.fetchers.room import Room
from crawling.frontier.filtering import filters_of, unbound_hosts
from crawling.frontier.quarantine import states_of
from crawling.identity import identity
from crawling.models import Shift
from crawling.processors.kit import Kit
from crawling.rules.addresses import read_address
from crawling.rules.claims import largest_document
from crawling.rules.ranking import Order
from crawling.rules.recipients import Recipients
from crawling.rules.sections.fetching import FetchingPart
from crawling.rules.sections.politeness import Politeness
from crawling.rules.trapgate import TrapGate
from crawling.shift.buyer import Buyer

KIB = 1024


def bytes_a_second(politeness: Politeness, buyer: Buyer, processes: int) -> float:
    """What one of the crawl's processes may download: what the bank granted, and its share of the order's own limit."""
    granted = float(buyer.held["bandwidth"] * KIB)
    return min(granted, politeness.max_kib_a_second * KIB / processes) if politeness.max_kib_a_second else granted


def make_kit(shift: Shift, buyer: Buyer, room: Room, fetching: FetchingPart) -> Kit:
    """What the toes need, from the crawl's order and what the shift holds."""
    run = shift.process.run
    who = identity()
    politeness = Politeness(**run.crawl.politeness)
    return Kit(
        token=who.product_token,
        user_agent=who.user_agent,
        filters=filters_of(run.crawl, run),
        delay_seconds=run.crawl.delay_seconds,
        politeness=politeness,
        max_document_bytes=largest_document(buyer.claim),
        room=room,
        bandwidth=Bandwidth(bytes_a_second(politeness, buyer, run.crawl.processes)),
        allowed=allowed_networks(),
        forbidden=settings.OWN_SERVICES,
        archives=run.crawl.archive,
        fetching=fetching,
        proxy=proxy_of(fetching.proxy),
        directories=allowed_directories(),
        shared_networks=shared_networks(),
        recipients=Recipients.of_seeds([read_address(seed) for seed in run.crawl.seeds]),
        counts_links=Order(run.crawl.visit_order).counts_links,
        ascends=run.crawl.ordering.get("path_ascending", False),
        reading=Reading(run.crawl.obey_nofollow, run.crawl.requisites, run.crawl.extract),
        unbound=unbound_hosts(run.crawl, timezone.now()),
        traps=TrapGate(timezone.now().year, states_of(run.pk)),
    )

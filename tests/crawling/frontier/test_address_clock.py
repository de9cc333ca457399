"""Hosts at one address take turns there, in all crawls; hosts that ask for no rest, and shared
addresses, have no clock.
"""

from datetime import timedelta

import pytest
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from crawling.frontier.address_clock import AHEAD_SECONDS, forget_clocks, take_turn
from crawling.models import AddressClock, SharedNetwork
from tests.crawling.frontiers import other_connection

HERE = "192.0.2.1"


@pytest.mark.django_db
def test_turns_are_a_gap_apart_and_each_address_has_its_own():
    turns = [take_turn(HERE, 2.0) for _ in range(3)]

    assert [round(turn.seconds) for turn in turns] == [0, 2, 4]
    assert all(turn.is_taken for turn in turns)
    assert take_turn("2001:db8::1", 2.0).seconds == 0


@pytest.mark.django_db
def test_turns_are_not_given_out_far_ahead():
    taken = [take_turn(HERE, 4.0) for _ in range(3)]
    refused = [take_turn(HERE, 4.0) for _ in range(3)]

    assert max(turn.seconds for turn in taken) <= AHEAD_SECONDS
    assert not any(turn.is_taken for turn in refused)
    assert all(turn.seconds >= 2 for turn in refused)


@pytest.mark.django_db
def test_a_clock_saves_no_turns_up_and_is_forgotten_after_an_hour():
    take_turn(HERE, 0.1)
    AddressClock.objects.update(due_at=timezone.now() - timedelta(minutes=59))
    assert forget_clocks() == 0
    assert [round(take_turn(HERE, 2.0).seconds) for _ in range(2)] == [0, 2]

    AddressClock.objects.update(due_at=timezone.now() - timedelta(minutes=61))
    assert forget_clocks() == 1


def crawl_two_hosts(make_site, crawl_to_the_end, **fields):
    """Two hosts at one address; returns seconds from the first request to the last, and how many
    there were.
    """
    pages = {
        "/": "".join(f'<a href="/{n}">x</a>' for n in range(4)),
        **{f"/{n}": "x" for n in range(4)},
    }
    sites = [make_site(pages), make_site(pages)]
    crawl_to_the_end(*(f"{site.url}/" for site in sites), **fields)
    times = [request.at for site in sites for request in site.log]
    return max(times) - min(times), len(times)


def test_two_hosts_at_one_address_take_turns(make_site, crawl_to_the_end):
    seconds, requests = crawl_two_hosts(
        make_site, crawl_to_the_end, delay_seconds=0.2, address_delay_seconds=0.2
    )

    assert requests == 12
    assert seconds >= 11 * 0.2 - 0.15  # the first may have begun late


@pytest.mark.parametrize("why", ["no delay", "the order", "a CDN"])
def test_addresses_without_a_clock(make_site, crawl_to_the_end, why):
    if why == "a CDN":
        SharedNetwork.objects.create(network="127.0.0.0/8")
    fields = {
        "no delay": {"delay_seconds": 0},
        "the order": {"address_delay_seconds": 0},
        "a CDN": {},
    }[why]

    crawl_two_hosts(make_site, crawl_to_the_end, **{"delay_seconds": 0.02, **fields})

    assert not AddressClock.objects.exists()


def test_turns_are_taken_one_after_the_other(transactional_db):
    take_turn(HERE, 1.0)

    with (
        other_connection(["UPDATE crawling_addressclock SET due_at = due_at"]),
        transaction.atomic(),
    ):
        connection.cursor().execute("SET LOCAL lock_timeout = '100ms'")
        with pytest.raises(OperationalError):
            take_turn(HERE, 1.0)

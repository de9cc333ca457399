"""A work process that stands still is killed by the worker above it, and the page that did it is
blamed alone.
"""

from __future__ import annotations

import time

import pytest

from crawling.frontier.rules.poison_suspects import CERTAIN_LOSSES, FAILS_FROM
from crawling.machine.vitals import Vitals
from crawling.models import Run
from crawling.models.jobs import ENDED_STATES
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.web.statuses import FetchStatus
from tests.crawling.machine.freezing import BURNS, FREEZES
from tests.stack import SCHEDULER, WORKER, running_stack, wait_until

FREEZING = [*WORKER[:4], "tests.crawling.machine.freezing.FreezingWorker", *WORKER[5:]]


@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(300)
# what freezes is to be known by seconds before the lease runs out, on a busy machine too; what
# burns may use half a lease of the processor, twice
@pytest.mark.parametrize(("kind", "lease"), [(FREEZES, "12"), (BURNS, "4")])
def test_a_page_whose_reading_never_ends_is_given_up_and_blamed_alone(
    make_site, order, tmp_path, kind, lease
):
    pages = {f"/{n}": "x" for n in range(50)}
    links = [f'<a href="{path}">x</a>' for path in pages]
    site = make_site(
        {
            "/": "".join([*links[:25], '<a href="/worst">x</a>', *links[25:]]),
            "/worst": (200, {"Content-Type": kind}, "x"),
            **pages,
        }
    )
    run = start_run(create_crawl(order(f"{site.url}/", batch_size=20)))

    with running_stack(tmp_path, BANK_LEASE_SECONDS=lease, BANK_PICKUP_SECONDS="4") as stack:
        stack.start(SCHEDULER)
        stack.start(FREEZING)
        wait_until(lambda: Run.objects.get(pk=run.pk).state in ENDED_STATES, seconds=250)

    assert list(run.urls.exclude(state="s").values_list("url", "status")) == [
        (f"{site.url}/worst", FetchStatus.WORKER_DIED)
    ]
    losses = run.urls.get(url=f"{site.url}/worst").losses
    known = run.log.filter(message__contains="one page").count()
    # now and then the machine gives it too little of the processor to be known in time, and its
    # lease runs out first, which counts once
    lost_leases = losses - CERTAIN_LOSSES * known
    assert known in (1, 2)
    assert lost_leases >= 0
    assert FAILS_FROM <= losses < FAILS_FROM + CERTAIN_LOSSES
    assert not run.urls.exclude(url=f"{site.url}/worst").filter(losses__gt=lost_leases).exists()


def test_of_a_thread_with_two_urls_the_later_one_is_in_hand_and_the_first_is_not_charged_for_it():
    vitals = Vitals()

    with vitals.hold_url(3, 7):
        [first] = vitals.urls_in_hand()
        with vitals.hold_url(3, 8):
            assert [hand.url_id for hand in vitals.urls_in_hand()] == [8]
            began = time.thread_time()
            while time.thread_time() < began + 0.05:
                pass
        [again] = vitals.urls_in_hand()

    assert (again.thread, again.url_id) == (first.thread, 7)
    assert again.used_before >= first.used_before + 0.05
    assert vitals.urls_in_hand() == []

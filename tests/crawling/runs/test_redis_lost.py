"""AC8: Redis loses everything.

What was granted is sent again, or taken back and asked for again, and the crawl ends.
"""

from __future__ import annotations

from datetime import timedelta

import django_rq
import pytest

from allocation.models import Outbox, Process
from crawling.crawls.creation import create_crawl, start_run
from crawling.models import Page, Run
from crawling.models.jobs import ENDED_STATES
from crawling.scheduler.messages import QUEUE, RESEND_AFTER
from crawling.scheduler.rounds import duties
from tests.crawling.runs.test_kill import ladder
from tests.stack import SCHEDULER, WORKER, running_stack, wait_until

PAGES = 30


#: by the reaper, who takes back what nobody picks up; and with the times that are shipped, in the
#: drill, by being sent again
PICKUP_SECONDS = [3, pytest.param(120, marks=pytest.mark.drill)]


@pytest.mark.parametrize("pickup_seconds", PICKUP_SECONDS)
def test_start_that_redis_lost_is_worked_within_a_minute(
    make_site, order, tmp_path, settings, pickup_seconds
):
    settings.BANK_PICKUP_SECONDS = pickup_seconds
    site = make_site(ladder(PAGES))
    run = start_run(create_crawl(order(f"{site.url}/")))

    with running_stack(tmp_path, BANK_LEASE_SECONDS="2", BANK_PICKUP_SECONDS="30") as stack:
        stack.start(SCHEDULER)
        wait_until(lambda: not Outbox.objects.filter(sent_at=None).exists())
        assert Process.objects.filter(holding=True, worker="").exists()
        django_rq.get_connection(QUEUE).flushdb()
        stack.start(WORKER)
        wait_until(lambda: Run.objects.get(pk=run.pk).state in ENDED_STATES, seconds=60)

    assert Page.objects.filter(run=run).count() == PAGES
    assert not Process.objects.filter(holding=True).exists()


def test_an_open_grant_is_sent_again_within_a_minute_by_the_times_that_are_shipped():
    [every] = [duty.every_seconds for duty in duties() if duty.do.__name__ == "resend"]

    assert RESEND_AFTER + timedelta(seconds=every) <= timedelta(seconds=60)

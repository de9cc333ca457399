"""An operator changes Max of a crawl at work, and its fetch threads follow (SEEDS B11's
`setSize`)."""

from __future__ import annotations

import threading
import time
from uuid import uuid4

import pytest
from django.db import connections

from allocation.models import Process
from allocation.selectors import holdings_of
from allocation.services import register_process, request_resources
from crawling.base.errors import BadOrder
from crawling.models import CrawlJob
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.revisions import edit_crawl
from crawling.runs.start import start_run
from crawling.runs.steering import stop
from tests.crawling.fetching.pipeline.test_crawl_path import links
from tests.crawling.fetching.shift.test_fetch_threads import wait_for

SEED = "http://127.0.0.1:8900/"


class Web:
    """Pages that lead to more of their kind, on several hosts; `together` is how many are being
    served now.
    """

    def __init__(self):
        self.lock, self.together = threading.Lock(), 0

    def page(self, request):
        if request.path == "/robots.txt":
            return 404, {}, ""
        with self.lock:
            self.together += 1
        time.sleep(0.03)  # an answer takes its time
        with self.lock:
            self.together -= 1
        number = int(request.path.strip("/") or 0)
        return (
            200,
            {"Content-Type": "text/html"},
            links(*(f"/{10 * number + n}" for n in range(1, 11))),
        )


def held(run):
    """Fetch slots held, and Max, as the bank has them."""
    process = Process.objects.get(run_process__run=run)
    units = {
        holding.key: holding.units for holding in holdings_of([process.pk]).get(process.pk, ())
    }
    return units.get("fetch_slots"), process.max_claim[1]


def test_fetch_threads_retire_and_come_back_while_the_shift_goes_on(
    make_site, order, work_off, monkeypatch
):
    monkeypatch.setattr("crawling.fetching.shift.work.LOOK_SECONDS", 0.05)
    web, seen = Web(), []
    sites = [make_site({}, address=f"127.0.0.{n}") for n in range(2, 10)]
    for site in sites:
        site.reply = web.page
    run = start_run(
        create_crawl(
            order(*(f"{site.url}/" for site in sites), claim={"fetch_slots": 6}, archive=False)
        )
    )

    def operate():
        try:
            wait_for(lambda: web.together == 6, seconds=20)
            edit_crawl(run.crawl, {"claim": {"fetch_slots": 2}})
            wait_for(lambda: held(run) == (2, 2), seconds=20)
            seen.append(max(web.together for _ in range(20) if time.sleep(0.01) is None))
            edit_crawl(CrawlJob.objects.get(), {"claim": {"fetch_slots": 4}})
            wait_for(lambda: web.together == 4, seconds=20)
            seen.append(held(run))
        finally:
            stop(run.crawl)
            connections.close_all()

    operator = threading.Thread(target=operate)
    operator.start()
    work_off(run)
    operator.join()

    assert seen == [2, (4, 4)]
    assert run.processes.get().shifts.count() == 1


def test_max_is_changed_for_all_processes_or_for_none(pool, order):
    crawl = create_crawl(order(SEED, processes=2, claim={"fetch_slots": 10}))
    run = start_run(crawl)
    hog = register_process(
        pool=pool.pk, label="another", run_ref="", maximum={"fetch_slots": 60, "bandwidth": 30_000}
    )
    request_resources(
        process=hog.pk, amounts={"fetch_slots": 30, "bandwidth": 20_000}, request_id=uuid4()
    )

    with pytest.raises(BadOrder, match="fetch_slots"):
        edit_crawl(crawl, {"claim": {"fetch_slots": 65}})
    edit_crawl(crawl, {"claim": {"fetch_slots": 20}})

    claims = Process.objects.filter(run_process__run=run).values_list("max_claim", flat=True)
    assert [claim[1] for claim in claims] == [20, 20]
    assert CrawlJob.objects.get().claim["fetch_slots"] == 20


def test_what_a_shift_began_with_cannot_change_before_its_run_ends(order):
    crawl = create_crawl(order(SEED))
    edit_crawl(crawl, {"claim": {"memory": 32}})
    start_run(crawl)

    with pytest.raises(BadOrder, match=r"claim\.memory: cannot change before the run has ended"):
        edit_crawl(CrawlJob.objects.get(), {"claim": {"memory": 16, "fetch_slots": 9}})
    assert CrawlJob.objects.get().claim["memory"] == 32


def test_the_page_changes_it_and_says_what_is_wrong(order, client, admin_user):
    crawl = create_crawl(order(SEED))
    client.force_login(admin_user)
    assert "Max parallel fetches" in client.get(f"/crawls/{crawl.pk}/settings/").content.decode()

    client.post(f"/crawls/{crawl.pk}/max/", {"fetch_slots": "3"})
    assert CrawlJob.objects.get().claim["fetch_slots"] == 3
    answer = client.post(
        f"/crawls/{crawl.pk}/max/",
        {"fetch_slots": "many", "next": f"/crawls/{crawl.pk}/"},
        follow=True,
    )

    assert "claim.fetch_slots: must be a whole number" in answer.content.decode()
    assert CrawlJob.objects.get().claim["fetch_slots"] == 3

"""Memory for a program that reads PDF is asked of the pool with the document in hand, and that can
neither hang nor lose anything.
"""

from __future__ import annotations

import threading
from uuid import uuid4

from django.db import connections
from django.utils import timezone

from allocation.models import Process, Request
from allocation.services import register_process, release_resources, request_resources, set_capacity
from crawling.models import HostQueue, Page, Shift, Url
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.web.fetch import budgets
from crawling.web.fetch.budgets import MemoryBudget
from crawling.web.statuses import FetchStatus
from tests.crawling.conftest import granted_starts
from tests.crawling.fetching.pipeline.test_crawl_path import links
from tests.crawling.fetching.shift.test_fetch_threads import wait_for
from tests.crawling.web.documents.test_pdf import made

CLAIM = {"fetch_slots": 2, "memory": 40}
PDF = (200, {"Content-Type": "application/pdf"}, made("/small"))


def memory_stages(run):
    return list(
        Request.objects.filter(
            process__run_process__run=run, kind="stage", amounts__3__gt=0
        ).order_by("pk")
    )


def test_a_pdf_gets_what_its_reading_lacks_while_the_shift_holds_the_rest(
    make_site, crawl_to_the_end
):
    site = make_site({"/": links("/pdf", "/other"), "/pdf": PDF, "/other": "x", "/small": "x"})

    run = crawl_to_the_end(f"{site.url}/", claim=CLAIM)

    (stage,) = memory_stages(run)
    assert (stage.state, stage.amounts[3]) == ("granted", 38)  # all but the threads' shares
    assert Page.objects.get(url__url__endswith="/pdf").title == "A report"
    assert sorted(site.paths) == ["/", "/other", "/pdf", "/small"]
    assert not Process.objects.filter(holding=True).exists()


def test_where_no_memory_comes_free_in_time_the_url_is_told_so_and_tried_again(
    make_site, order, work_off, pool, monkeypatch
):
    monkeypatch.setattr(budgets, "DEADLINE_SECONDS", 0.5)
    set_capacity(pool=pool.pk, capacity={"memory": 40})
    hog = register_process(pool=pool.pk, label="another", run_ref="", maximum={"memory": 30})
    request_resources(process=hog.pk, amounts={"memory": 30}, request_id=uuid4())
    hog.refresh_from_db()
    granted_starts()  # no shift of ours is meant
    site = make_site({"/": PDF})
    run = start_run(create_crawl(order(f"{site.url}/", claim=CLAIM)))

    work_off(run, until=lambda run: Url.objects.get().status is not None)
    assert Url.objects.values_list("status", "error").get() == (
        FetchStatus.MEMORY_BUSY,
        FetchStatus.MEMORY_BUSY.sentence,
    )

    release_resources(
        process=hog.pk, epoch=hog.epoch, release_id=uuid4(), amounts=None, reason="done"
    )
    Url.objects.update(due_at=timezone.now())
    HostQueue.objects.update(due_at=timezone.now())
    work_off(run)
    assert Page.objects.get(url__url=f"{site.url}/").title == "A report"


def test_pieces_are_given_out_in_order():
    budget, got, done = MemoryBudget(rest=90), [], threading.Event()

    def thread(name, size):
        assert budget.reserve(size)
        got.append(name)
        done.wait(10)
        budget.release()

    threads = [threading.Thread(target=thread, args=("first", 80))]
    threads[0].start()
    wait_for(lambda: got == ["first"])
    # the small one would fit, but it isn't its turn
    for waiting, (name, size) in enumerate((("large", 90), ("small", 10)), start=1):
        threads.append(threading.Thread(target=thread, args=(name, size)))
        threads[-1].start()
        wait_for(lambda waiting=waiting: len(budget._waits) == waiting)

    assert budget.shortage() == 80
    assert not budget.clear()
    done.set()
    for thread in threads:
        thread.join(60)

    assert got == ["first", "large", "small"]
    assert (budget.shortage(), budget.clear()) == (0, True)


def test_nobody_waits_for_memory_beyond_the_end_of_the_shift():
    budget, answers = MemoryBudget(rest=0), []
    thread = threading.Thread(target=lambda: answers.append(budget.reserve(20)))
    thread.start()
    wait_for(lambda: budget.shortage() == 20)

    budget.end()
    thread.join(60)

    assert answers == [False]


def test_each_fetch_threads_shows_its_step_and_since_when_until_its_shift_ends(
    make_site, order, work_off, client, admin_user
):
    shown = []

    def page(request):
        wait_for(lambda: shown.extend(Shift.objects.get(ended_at=None).fetch_threads) or shown)
        client.force_login(admin_user)
        shown.append(client.get(f"/crawls/{crawl.pk}/").content.decode())
        shown.append(client.get(f"/api/v1/crawls/{crawl.pk}/fetch-threads").json())
        connections.close_all()  # of the web server's thread
        return 200, {}, "x"

    site = make_site({"/": page})
    crawl = create_crawl(order(f"{site.url}/", first_byte_seconds=60))
    run = work_off(start_run(crawl))

    (number, step, url, since), html, answer = shown
    assert (number, step, url) == (0, "waiting for the answer", f"{site.url}/")
    assert since > run.started_at.timestamp() - 1
    assert "1 waiting for the answer" in html
    (thread,) = answer["items"]
    assert (thread["process"], thread["number"], thread["step"], thread["url"]) == (0, 0, step, url)
    assert Shift.objects.get().fetch_threads == []

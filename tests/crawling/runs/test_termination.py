"""When a run ends (SEEDS B13): once nothing waits and no shift has a URL in process that might
bring more.
"""

from allocation.services import take_lease
from crawling.frontier import claim_urls
from crawling.frontier.record.outcome_writer import record_batch
from crawling.models import HostQueue, RunProcess
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.shift_lifecycle import begin_shift, end_shift, settle_run
from crawling.runs.start import start_run
from tests.crawling.conftest import granted_starts
from tests.crawling.frontiers import candidates, outcome


def test_an_empty_queue_is_not_the_end_while_a_page_is_in_hand(order):
    run = start_run(create_crawl(order("http://127.0.0.1:8900/")))
    ((process, epoch),) = granted_starts()
    take_lease(process=process, epoch=epoch, worker="w")
    shift = begin_shift(
        RunProcess.objects.select_related("run__crawl").get(), epoch=epoch, worker="w"
    )
    queue = HostQueue.objects.get(run=run).pk
    states = []

    for links in (candidates("127.0.0.1:8900/more"), []):
        ((url,),) = claim_urls(shift, {queue: 1}).values()
        states.append((HostQueue.objects.get().queued, settle_run(run.pk).state))
        record_batch(shift, [outcome(url, links=links)], numbers=[0])
    end_shift(shift, "nothing is due")

    assert states == [(0, "running"), (0, "running")]
    assert settle_run(run.pk).state == "finished"

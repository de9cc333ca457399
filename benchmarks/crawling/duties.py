"""What each of the scheduler's duties takes: `python -m benchmarks.crawling.duties
[--waiting 10000] [--ended 300000]`.

Fills a database of its own with runs that wait for a start and runs that have ended, then times
each duty, and a shift that ends: its release serves the queue. Prints milliseconds and statements.
"""

from __future__ import annotations

import time
from functools import partial
from uuid import uuid4

from django.db import connection
from django.db.models import JSONField

from allocation.models import Pool, Process, RequestKind
from allocation.services import release_resources, request_resources
from benchmarks.report import Table, options
from benchmarks.scene.crawls import begin_crawl, make_ready
from benchmarks.scene.database import empty_database, execute
from benchmarks.timer import Step, chosen_figures, rounds_of, timed
from crawling.archive.files import this_machine
from crawling.dashboard.crawls.filter import CrawlFilter
from crawling.dashboard.crawls.listing import list_crawls
from crawling.dashboard.crawls.overview import read_overview
from crawling.frontier import rules_key
from crawling.frontier.waiting_names import due_names
from crawling.installation.pools import capacity_of
from crawling.models import CrawlJob
from crawling.orders.claims import complete_claim, start_amounts
from crawling.runs.crawls.creation import create_crawl, free_name
from crawling.runs.wait_reason import waiting_runs
from crawling.scheduler.rounds import duties

CRAWLS = """
INSERT INTO crawling_crawljob (name, seeds, scope, visit_order, delay_seconds, processes,
    batch_size, archive, obey_nofollow, requisites, extract, fetching, ordering, filters, budget,
    politeness, reuse, retention, claim, tags, created_at, idempotency_key, idempotency_digest,
    thresholds)
SELECT %(kind)s || n, ARRAY['http://h' || n || '.' || %(kind)s || '.example/'], 'host',
    'breadth_first', 0, 1, 100, true, false, false, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}',
    %(claim)s, '{}', now(), '', '', '{}'
FROM generate_series(1, %(count)s) n
"""
RUNS = """
INSERT INTO crawling_run (crawl_id, number, is_latest, state, reason, trouble, judged_by,
    created_at, started_at, finished_at)
SELECT id, 1, true, %(state)s, '', '', %(judged_by)s, now(), CASE WHEN %(ended)s THEN now() END,
    CASE WHEN %(ended)s THEN now() END
FROM crawling_crawljob WHERE starts_with(name, %(kind)s)
"""
PROCESSES = """
INSERT INTO allocation_process (pool_id, label, run_ref, max_claim, allocated, state,
    priority, epoch, worker, is_waiting)
SELECT %(pool)s, c.name, 'run/' || r.id || '/0', %(maximum)s,
    array_fill(0, ARRAY[cardinality(%(maximum)s)]),
    CASE WHEN %(ended)s THEN 'finished' ELSE 'active' END, 0,
    CASE WHEN %(ended)s THEN 1 ELSE 0 END, '', NOT %(ended)s
FROM crawling_run r JOIN crawling_crawljob c ON c.id = r.crawl_id
WHERE starts_with(c.name, %(kind)s)
"""
RUN_PROCESSES = """
INSERT INTO crawling_runprocess (run_id, number, bank_process_id)
SELECT r.id, 0, p.id FROM crawling_run r JOIN crawling_crawljob c ON c.id = r.crawl_id
JOIN allocation_process p ON p.run_ref = 'run/' || r.id || '/0' WHERE starts_with(c.name, %(kind)s)
"""
HOSTS = """
INSERT INTO crawling_host (name, dns_name, delay_seconds)
SELECT 'h' || n || '.' || %(kind)s || '.example', 'h' || n || '.' || %(kind)s || '.example', 0
FROM generate_series(1, %(count)s) n
"""
QUEUES = """
INSERT INTO crawling_hostqueue (run_id, host_id, process_number, queued, done)
SELECT r.id, h.id, 0, CASE WHEN %(ended)s THEN 0 ELSE 1 END, CASE WHEN %(ended)s THEN 3 ELSE 0 END
FROM crawling_run r JOIN crawling_crawljob c ON c.id = r.crawl_id
JOIN crawling_host h ON c.seeds[1] = 'http://' || h.name || '/' WHERE starts_with(c.name, %(kind)s)
"""
WAITS = """
INSERT INTO allocation_request (id, pool_id, process_id, kind, amounts, state, verdict, reason,
    epoch, bypassed)
SELECT gen_random_uuid(), %(pool)s, id, 'start', %(start)s, 'waiting', 'wait_unavailable', '', 0, 0
FROM allocation_process WHERE state = 'active' AND NOT holding ORDER BY id
"""
ENDS = """
WITH had AS (
    INSERT INTO allocation_request (id, pool_id, process_id, kind, amounts, state, verdict, reason,
        epoch, bypassed, decided_at)
    SELECT gen_random_uuid(), %(pool)s, id, 'start', %(start)s, 'granted', 'grant', '', 1, 0,
        clock_timestamp()
    FROM allocation_process WHERE state = 'finished' RETURNING id, process_id
)
INSERT INTO allocation_grant (request_id, process_id, epoch, amounts, remaining, released_at,
    release_reason)
SELECT id, process_id, 1, %(start)s, array_fill(0, ARRAY[cardinality(%(start)s)]),
    clock_timestamp(), '' FROM had
"""
SENT = """
INSERT INTO allocation_outbox (kind, pool_id, process_id, epoch, sent_at)
SELECT 'start', %(pool)s, id, 1, now() FROM allocation_process WHERE state = 'finished'
"""
SHIFTS = """
INSERT INTO crawling_shift (process_id, epoch, worker, started_at, ended_at, ending, fetch_threads,
    used)
SELECT p.id, 1, 'worker', now(), now(), 'nothing is due', '[]', '{}'
FROM crawling_runprocess p JOIN crawling_run r ON r.id = p.run_id
WHERE r.state = 'finished'
"""
FILES = """
INSERT INTO crawling_archivefile (run_id, name, namespace, machine, slot, committed_length,
    opened_at, sealed_at)
SELECT id, 'run' || id || '-' || %(machine)s || '-0-00000.warc.gz', gen_random_uuid(), %(machine)s,
    0, 1000, now(), now()
FROM crawling_run WHERE state = 'finished'
"""
TOTALS = """
INSERT INTO crawling_runtotal (run_id, discovered, fetched, succeeded, failed, bytes)
SELECT id, 3, 3, 3, 0, 3000 FROM crawling_run WHERE state = 'finished' ON CONFLICT DO NOTHING
"""


def main() -> None:
    asked = options(__doc__, waiting=10_000, ended=300_000)
    with empty_database():
        make_ready()
        with timed() as taken:
            fill(asked.waiting, asked.ended)
        made = f"(made in {taken.clock:.0f} s)"
        print(f"{asked.waiting:,} runs wait, {asked.ended:,} have ended {made}")
        measure()


def fill(waiting: int, ended: int) -> None:
    """Create the rows of a number of runs. Other processes hold all workers of the pool, so no run
    is served.
    """
    pool = Pool.objects.get()
    claim, _ = complete_claim({}, capacity_of(pool))
    for number in range(capacity_of(pool)["worker"]):
        begin_crawl("At work", [f"http://127.0.0.{number + 1}:8900/"])
    keys = list(pool.classes.values_list("key", flat=True))
    maximum, start = (
        [amounts.get(key, 0) for key in keys] for amounts in (claim, start_amounts(claim))
    )
    common = {
        "pool": pool.pk,
        "claim": JSONField().get_db_prep_value(claim, connection),
        "maximum": maximum,
        "start": start,
        "machine": this_machine(),
        "judged_by": rules_key(CrawlJob.objects.latest("pk")),
    }
    for kind, count, is_ended in (("waits", waiting, False), ("ended", ended, True)):
        state = "finished" if is_ended else "queued"
        values = {**common, "kind": kind, "count": count, "ended": is_ended, "state": state}
        execute(CRAWLS, RUNS, PROCESSES, RUN_PROCESSES, HOSTS, QUEUES, given=values)
        execute("ANALYZE")
    execute(WAITS, ENDS, SENT, SHIFTS, FILES, TOTALS, given=common)
    execute("VACUUM ANALYZE")


def measure() -> None:
    """Run each duty once to warm up, then three times; the longest counts. Then measure the queries
    of the DNS resolver, of pages and of programs, and the beginning and end of shifts.
    """
    table = Table("ms", "statements", "what")
    for duty in duties():
        duty.do()
        _time(table, duty.do.__name__, duty.do)
    _time(table, "names that are due", lambda: due_names(time.time() + 10))
    _time(table, "runs that wait", waiting_runs)
    _time(table, "the list of crawls", lambda: list_crawls(CrawlFilter()))
    _time(table, "the overview's crawls", read_overview)
    fields = {"seeds": ["http://127.0.0.1:8900/"], "delay_seconds": 0}
    _time(table, "create a crawl", lambda: create_crawl({"name": free_name("new"), **fields}))
    _time(table, "start a crawl", lambda: begin_crawl("new", ["http://127.0.0.1:8900/"]))
    _time_shifts(table)


def _time_shifts(table: Table) -> None:
    """Measure a shift that ends and so serves the queue, and a granted stage that bypasses all
    waiting processes.
    """
    stage = partial(request_resources, amounts={"archive_writers": 1}, kind=RequestKind.STAGE)
    for process in Process.objects.filter(holding=True)[:2]:
        key, epoch = process.pk, process.epoch
        one = partial(stage, request_id=uuid4(), process=key, epoch=epoch)
        _time(table, "a stage that is granted", one, times=1)
        end = partial(release_resources, release_id=uuid4(), amounts=None, process=key, epoch=epoch)
        _time(table, "a shift's end, which serves the next", end, times=1)


def _time(table: Table, name: str, do: Step, *, times: int = 3) -> None:
    taken = chosen_figures(max, rounds_of([do] * times))
    table.row(round(1000 * taken.clock, 1), taken.statements, name)


if __name__ == "__main__":
    main()

"""What it costs to ask whether the archive has a payload already (decision 77).

    python -m benchmarks.frontier.payloads [pages] [runs]

Needs DATABASE_URL, of a database of its own that is migrated; what it writes is rolled back. Half
of the payloads that are asked for are known. Times are the least of fifteen rounds, which what else
the machine does disturbs least.
"""

from __future__ import annotations

import sys
import tempfile
import time
from hashlib import sha256
from pathlib import Path

from django.conf import settings

from benchmarks.scene.database import set_up_django

#: payloads that are asked for at a time, as many as a shift with eight threads has in a moment
BATCH, ROUNDS = 40, 15
SIZE = 20_000


def main(pages: int, runs: int) -> None:
    from django.db import connection, transaction

    from crawling.archive.originals import Originals
    from crawling.models import ArchiveFile, CrawlJob, Host, HostQueue, Page, Run

    with tempfile.TemporaryDirectory() as folder, transaction.atomic():
        settings.ARCHIVE_DIR = folder
        crawl = CrawlJob.objects.create(
            name="bench", seeds=[], claim={}, delay_seconds=0, batch_size=1
        )
        made = Run.objects.bulk_create(
            Run(crawl=crawl, number=number, state="finished", is_latest=number == runs)
            for number in range(1, runs + 1)
        )
        host = Host.objects.create(name="bench.test")
        each = pages // runs
        for run in made:
            queue = HostQueue.objects.create(run=run, host=host, process_number=0)
            name = f"run{run.pk}-bench-0-00000.warc.gz"
            file = ArchiveFile.objects.create(run=run, name=name, machine="bench", slot=0)
            (Path(folder) / f"run{run.pk}").mkdir()
            (Path(folder) / f"run{run.pk}" / name).touch()
            with connection.cursor() as cursor:
                cursor.execute(
                    "INSERT INTO crawling_url (run_id, queue_id, url, fingerprint, state, "
                    "depth, rank) "
                    "SELECT %s, %s, 'http://bench.test/' || n, n, 's', 0, n "
                    "FROM generate_series(1, %s) n",
                    [run.pk, queue.pk, each],
                )
                cursor.execute(
                    "INSERT INTO crawling_page (url_id, run_id, status, final_url, content_type, "
                    "charset, title, bytes, fingerprint, address, fetch_seconds, fetched_at, "
                    "archive_file_id, archive_offset, archive_length, payload_sha256) "
                    "SELECT id, run_id, 200, url, '', '', '', %s, hashint8extended(id, 7), "
                    "'127.0.0.1', 0, now(), %s, 0, 1, sha256(int8send(id)) "
                    "FROM crawling_url WHERE run_id = %s",
                    [SIZE, file.pk, run.pk],
                )
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE crawling_page, crawling_url")
        rows = list(
            Page.objects.order_by("fingerprint").values_list("payload_sha256", "fingerprint")[
                : 10 * BATCH : 20
            ]
        )
        wanted = {bytes(digest or b""): (mark, SIZE) for digest, mark in rows}
        wanted |= {
            sha256(digest).digest(): (mark + 1, SIZE) for digest, (mark, _) in wanted.items()
        }
        for sought in ("run", "crawl", "all"):
            taken = []
            for _ in range(ROUNDS):
                originals = Originals(made[-1], sought=sought, is_alone=lambda: False)
                began = time.perf_counter()
                originals.look_up(wanted)
                taken.append(time.perf_counter() - began)
            print(f"{sought:6} {min(taken) / len(wanted) * 1e6:8.1f} µs a payload")
        transaction.set_rollback(True)


if __name__ == "__main__":
    set_up_django()
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 100_000,
        int(sys.argv[2]) if len(sys.argv) > 2 else 20,
    )

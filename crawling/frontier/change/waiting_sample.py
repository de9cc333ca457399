"""Some of what waits in a run, drawn so that they stand for all of it."""

from __future__ import annotations

from crawling.models import Run, Url, UrlState

#: as many are read and judged in half a second of a core's time
MOST = 10_000
#: in a run in which little waits, rows that are read to find those that do
MOST_READ = 100_000

#: Fingerprints are a hash of the address: their order has nothing to do with hosts, depth, or what
#: an address looks like. So the first ones are a sample, the same at each look, and an operator who
#: tries on expressions sees what these change.
SAMPLE = f"""
SELECT id, queue_id, url, depth, hops
FROM (SELECT * FROM crawling_url WHERE run_id = %s ORDER BY fingerprint LIMIT %s) AS u
WHERE u.state = '{UrlState.QUEUED}' LIMIT %s
"""  # noqa: S608 - the states are constants

ALL = f"""
SELECT u.id, u.queue_id, u.url, u.depth, u.hops FROM crawling_hostqueue q
JOIN crawling_url u ON u.queue_id = q.id
    AND u.state = '{UrlState.QUEUED}'
WHERE q.run_id = %s AND q.queued > 0 LIMIT %s
"""  # noqa: S608 - the states are constants


def sample_of_waiting(run: Run, waiting: int, *, most: int) -> tuple[list[Url], int]:
    """URLs that wait, and of how many they are a sample: all of them, where that are `most` or
    fewer. waiting: as the queues count them.
    """
    if waiting <= most:
        urls = list(Url.objects.raw(ALL, [run.pk, most]))
        return urls, len(urls)
    return list(Url.objects.raw(SAMPLE, [run.pk, MOST_READ, most])), waiting

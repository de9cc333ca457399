"""Sum up what all crawls did in each minute, so that a chart of a day need not read every process's
counts.
"""

from __future__ import annotations

from django.db import connection

from crawling.frontier.run_counts import CHARTED, sums_of

#: A minute is summed up once it is this long over, and again until the next few are: a batch
#: commits late where the machine is busy. What charts reach back to is a day.
SUM_UP = f"""
INSERT INTO crawling_minutetotal (minute, {", ".join(CHARTED)})
SELECT minute, {sums_of(CHARTED)} FROM crawling_runcount
WHERE minute >= greatest((SELECT max(minute) FROM crawling_minutetotal) - interval '5 minutes',
    now() - interval '25 hours')
    AND minute < date_trunc('minute', now()) - interval '2 minutes'
GROUP BY minute
ON CONFLICT (minute) DO UPDATE
SET {", ".join(f"{name} = excluded.{name}" for name in CHARTED)}
"""  # noqa: S608  # constants
FORGET = "DELETE FROM crawling_minutetotal WHERE minute < now() - interval '25 hours'"


def total_minutes() -> None:
    with connection.cursor() as cursor:
        cursor.execute(SUM_UP)
        cursor.execute(FORGET)

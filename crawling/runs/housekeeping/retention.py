"""Set the rules on which runs of a crawl are kept, and delete the other runs by these rules."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils import timezone

from crawling.base.audit import SCHEDULER, account_of, record_action
from crawling.base.errors import BadOrder, WrongState
from crawling.models import CrawlJob
from crawling.models.jobs import ENDED_STATES
from crawling.orders.retention import Retention, read_retention
from crawling.runs.housekeeping.retention_view import fates_of_crawl, retention_stamp
from crawling.runs.housekeeping.run_removal import request_removal

logger = logging.getLogger(__name__)

#: Idle crawls with a rule that may remove a run. One statement finds them, since the scheduler asks
#: every half minute and there may be very many crawls.
PERHAPS_TOO_MUCH = """
SELECT c.id FROM crawling_crawljob c CROSS JOIN LATERAL (
    SELECT (c.retention ->> 'keep_runs')::bigint AS runs,
        (c.retention ->> 'keep_days')::int AS days, (c.retention ->> 'max_bytes')::bigint AS bytes
) AS most
WHERE c.retention <> '{}' AND (
    SELECT count(*) > 1 AND bool_and(r.state = ANY(%s)) AND (
        count(*) > most.runs
        OR min(coalesce(r.finished_at, r.created_at))
            FILTER (WHERE NOT r.is_latest) <= now() - make_interval(days => most.days)
        OR (SELECT sum(f.committed_length) FROM crawling_archivefile f
            JOIN crawling_run o ON o.id = f.run_id
            WHERE o.crawl_id = c.id AND o.removal_asked_at IS NULL) > most.bytes
    ) FROM crawling_run r WHERE r.crawl_id = c.id AND r.removal_asked_at IS NULL
)
ORDER BY c.id
"""


def set_retention(crawl: CrawlJob, fields: Mapping[str, Any], *, by: User | None) -> Retention:
    """Keep a crawl's runs by these rules from now on.

    Raises BadOrder with a sentence for each field; then nothing has changed.
    """
    rules, errors = read_retention(fields)
    if rules is None:
        raise BadOrder(errors)
    with transaction.atomic():
        locked = CrawlJob.objects.select_for_update(no_key=True).get(pk=crawl.pk)
        before, after = locked.retention, rules.model_dump(exclude_none=True)
        if before != after:
            CrawlJob.objects.filter(pk=crawl.pk).update(retention=after)
            record_action(by, locked, "set which runs are kept", {"retention": (before, after)})
    crawl.retention = after
    return rules


class RunRetention:
    """Deletes runs whose time is over. A crawl with an active run is left out, since that run may
    come to need earlier ones.

    To find the runs that other runs need, all pages of a crawl are read. If no run of a crawl can
    be deleted because of such needs, its pages are not read again until the crawl has changed.
    """

    def __init__(self) -> None:
        self._staying: dict[int, object] = {}

    def keep_to_rules(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(PERHAPS_TOO_MUCH, [list(ENDED_STATES)])
            perhaps = [pk for (pk,) in cursor.fetchall()]
        stayed, self._staying = self._staying, {}
        for crawl_id in perhaps:
            # the rules are read again, since a user may just have changed them
            crawl = CrawlJob.objects.filter(pk=crawl_id).first()
            if crawl is None:
                continue
            now = timezone.now()
            stands = retention_stamp(crawl, now)
            if stayed.get(crawl_id) == stands or not _delete_due_runs(crawl, now):
                self._staying[crawl_id] = stands


def _delete_due_runs(crawl: CrawlJob, now: datetime) -> bool:
    """Delete the runs whose time is over by the rules. Return whether any was deleted."""
    going = {
        fate.number: fate.sentence for fate in fates_of_crawl(crawl, now) if fate.is_deleted_by(now)
    }
    # The latest first: an earlier run may be needed only by runs that are deleted before it.
    for run in crawl.runs.filter(number__in=going).order_by("-number").select_related("crawl"):
        try:
            request_removal(run, by=account_of(SCHEDULER), because=going[run.number], for_good=True)
        except WrongState as trouble:  # the run has been started meanwhile
            logger.info("a run stays for now", extra={"run": str(run), "reason": str(trouble)})
    return bool(going)

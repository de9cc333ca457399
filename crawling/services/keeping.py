"""Set which runs of a crawl are kept, and delete the others as these rules say."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from crawling.audit import KEEPER, account_of, note
from crawling.errors import BadOrder, WrongState
from crawling.models import CrawlJob
from crawling.models.jobs import ENDED_STATES
from crawling.retaining import fates_of
from crawling.rules.retention import Retention, read_retention
from crawling.services.removing import ask_removal

logger = logging.getLogger(__name__)


def set_retention(crawl: CrawlJob, fields: Mapping[str, Any], *, by: User | None) -> Retention:
    """Keep a crawl's runs by these rules from now on. Raises BadOrder with a sentence by field; then nothing has changed."""
    rules, errors = read_retention(fields)
    if rules is None:
        raise BadOrder(errors)
    with transaction.atomic():
        locked = CrawlJob.objects.select_for_update(no_key=True).get(pk=crawl.pk)
        before, after = locked.retention, rules.model_dump(exclude_none=True)
        if before != after:
            CrawlJob.objects.filter(pk=crawl.pk).update(retention=after)
            note(by, locked, "set which runs are kept", {"retention": (before, after)})
    crawl.retention = after
    return rules


def keep_to_rules() -> None:
    """Delete the runs whose time has come, of crawls that rest: a run at work may come to need earlier ones."""
    for crawl in CrawlJob.objects.exclude(retention={}):
        if crawl.runs.exclude(state__in=ENDED_STATES).exists():
            continue
        now = timezone.now()
        going = {fate.number: fate.sentence for fate in fates_of(crawl, now) if fate.goes_at and fate.goes_at <= now}
        # The latest first: an earlier one may be needed by nothing but what goes before it.
        for run in crawl.runs.filter(number__in=going).order_by("-number").select_related("crawl"):
            try:
                ask_removal(run, by=account_of(KEEPER), because=going[run.number])
            except WrongState as trouble:  # it was started meanwhile
                logger.info("a run stays for now", extra={"run": str(run), "reason": str(trouble)})

"""Hand inquiries to the worker of background jobs, and find their answers for a while."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import salted_hmac
from redis.exceptions import RedisError

from crawling.base.encrypted_text import seal, unseal
from crawling.base.errors import InquiriesBusy
from crawling.jobs.enqueue import open_job
from crawling.jobs.job_rows import end_job
from crawling.jobs.kinds import job_kinds, kind_of
from crawling.models import BackgroundJob, Inquiry, Run
from crawling.models.inquiries import LONGEST

#: finds the answer, as JSON, to a question; the second argument is the inquiry's number. Raises
#: CrawlError
Answer = Callable[[Mapping[str, Any], int], dict[str, Any]]
#: The time for which a failure counts as the answer. Pages ask again every second or two until
#: there is an answer; after this time a new inquiry is made.
FAILURE_KEPT = timedelta(seconds=10)
#: The most open inquiries. A job of the commonest kind takes a tenth of a second, so the last is
#: answered within seconds. Each parallel request may exceed the limit by one.
MOST_OPEN = 100
NO_QUEUE = "Redis does not answer, so no background worker can be told; ask again once it is back."


def start_inquiry(
    kind: str,
    question: Mapping[str, Any],
    *,
    by: User | None,
    key: str = "",
    run: Run | None = None,
) -> Inquiry:
    """Let a background job answer. The job precedes jobs for which no page waits.

    kind: the name of the kind. run: the run whose pages the answer quotes. Raises InquiriesBusy
    when too many are open.
    """
    still_open = Inquiry.objects.filter(ended_at=None, asked_at__gt=timezone.now() - LONGEST)
    if still_open.count() >= MOST_OPEN:
        raise InquiriesBusy
    with transaction.atomic():
        spec = {"sealed": seal(question)}
        job = open_job(job_kinds()[kind], run, spec, by=by, subject=key)
        inquiry = Inquiry.objects.get(pk=job.pk)
        transaction.on_commit(partial(_enqueue, inquiry))
    return inquiry


def ask_once(
    kind: str, question: Mapping[str, Any], *, by: User | None, run: Run | None = None
) -> Inquiry:
    """The inquiry that has, or will have, the answer. A new inquiry is made if there is none.

    Raises InquiriesBusy as `start_inquiry` does.
    """
    key = salted_hmac("inquiry", f"{kind} {json.dumps(question, sort_keys=True)}").hexdigest()
    same, now = Inquiry.objects.filter(subject=key).order_by("-pk"), timezone.now()
    answered = same.exclude(result=None)
    is_open = Q(ended_at=None, asked_at__gt=now - LONGEST)
    others = same.filter(is_open | Q(ended_at__gt=now - FAILURE_KEPT, cancelled_at=None))
    if by is not None:  # for that user, the inquiry stays cancelled until a button repeats it
        others |= same.filter(cancelled_by=by)
    found = answered.first() or others.first()
    return found or start_inquiry(kind, question, by=by, key=key, run=run)


def ask_again(inquiry: Inquiry, *, by: User | None) -> Inquiry:
    """Repeat a cancelled inquiry. Raises InquiriesBusy or SealBroken."""
    return start_inquiry(
        inquiry.kind, question_of(inquiry), by=by, key=inquiry.subject, run=inquiry.run
    )


def question_of(inquiry: BackgroundJob) -> dict[str, Any]:
    """Raises SealBroken."""
    question: dict[str, Any] = unseal(inquiry.spec["sealed"])
    return question


def _enqueue(inquiry: Inquiry) -> None:
    try:
        kind_of(inquiry).job.enqueue_if_lost(inquiry.pk)
    except RedisError:
        end_job(inquiry, trouble=NO_QUEUE)

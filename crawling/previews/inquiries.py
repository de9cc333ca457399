"""Hand a question to the worker of the background jobs, and find its answer for a while."""

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

#: finds the answer, as JSON, to a question, whose number is the second. Raises CrawlError.
Answer = Callable[[Mapping[str, Any], int], dict[str, Any]]
#: Pages ask again every second or two until there is an answer, which a failure is, too; after this
#: time the question is asked anew.
FAILURE_KEPT = timedelta(seconds=10)
#: No more are open at a time. A job of the commonest kind takes a tenth of a second, so that the
#: last is answered within seconds; requests in parallel may pass the limit by one each.
MOST_OPEN = 100
NO_QUEUE = "Redis does not answer, so no background worker can be told; ask again once it is back."


def ask(
    kind: str,
    question: Mapping[str, Any],
    *,
    by: User | None,
    key: str = "",
    run: Run | None = None,
) -> Inquiry:
    """Let a background job answer. It comes before jobs that no page waits for.

    kind: its name. run: the run whose pages it quotes. Raises InquiriesBusy when too many are open.
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
    """The inquiry that has, or is about to have, the answer; asked now if there is none.

    Raises InquiriesBusy as `ask` does.
    """
    key = salted_hmac("inquiry", f"{kind} {json.dumps(question, sort_keys=True)}").hexdigest()
    same, now = Inquiry.objects.filter(subject=key).order_by("-pk"), timezone.now()
    answered = same.exclude(result=None)
    is_open = Q(ended_at=None, asked_at__gt=now - LONGEST)
    others = same.filter(is_open | Q(ended_at__gt=now - FAILURE_KEPT, cancelled_at=None))
    if by is not None:  # it stays cancelled for that user, who asks again by a button
        others |= same.filter(cancelled_by=by)
    found = answered.first() or others.first()
    return found or ask(kind, question, by=by, key=key, run=run)


def ask_again(inquiry: Inquiry, *, by: User | None) -> Inquiry:
    """Ask a cancelled question again. Raises InquiriesBusy, SealBroken."""
    return ask(inquiry.kind, question_of(inquiry), by=by, key=inquiry.subject, run=inquiry.run)


def question_of(inquiry: BackgroundJob) -> dict[str, Any]:
    """Raises SealBroken."""
    question: dict[str, Any] = unseal(inquiry.spec["sealed"])
    return question


def _enqueue(inquiry: Inquiry) -> None:
    try:
        kind_of(inquiry).job.enqueue_if_lost(inquiry.pk)
    except RedisError:
        end_job(inquiry, trouble=NO_QUEUE)

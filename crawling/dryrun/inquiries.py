"""Hand a question to the worker of the background jobs, and keep its answer for a while."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.crypto import salted_hmac
from redis.exceptions import RedisError

from crawling.encrypted_text import seal, unseal
from crawling.errors import InquiriesBusy
from crawling.jobs.rq_jobs import INQUIRY
from crawling.jobs.temporary_grant import release_orphaned_grant
from crawling.models import Inquiry, InquiryKind
from crawling.models.inquiries import LONGEST

#: the time for which an answer is kept and serves the same question
KEPT = timedelta(hours=1)
#: Pages ask again every second or two until there is an answer, which a failure is, too; after this
#: time the question is asked anew.
FAILURE_KEPT = timedelta(seconds=10)
#: an answer that is larger is not kept, as JSON in bytes
MOST_BYTES = 4 * 1024 * 1024
#: No more are open at a time. A job of the commonest kind takes a tenth of a second, so that the
#: last is answered within seconds; requests in parallel may pass the limit by one each.
MOST_OPEN = 100
NO_QUEUE = "Redis does not answer, so no background worker can be told; ask again once it is back."
TOO_LARGE = "The answer is too large to be kept."


def ask(
    kind: InquiryKind,
    question: Mapping[str, Any],
    *,
    by: User | None,
    key: str = "",
) -> Inquiry:
    """Let a background job answer. It comes before jobs that no page waits for.

    Raises InquiriesBusy when too many are open.
    """
    still_open = Inquiry.objects.filter(ended_at=None, asked_at__gt=timezone.now() - LONGEST)
    if still_open.count() >= MOST_OPEN:
        raise InquiriesBusy
    with transaction.atomic():
        inquiry = Inquiry.objects.create(kind=kind, key=key, sealed=seal(question), by=by)
        transaction.on_commit(partial(_enqueue, inquiry))
    return inquiry


def ask_once(kind: InquiryKind, question: Mapping[str, Any], *, by: User | None) -> Inquiry:
    """The inquiry that has, or is about to have, the answer; asked now if there is none.

    Raises InquiriesBusy as `ask` does.
    """
    key = salted_hmac("inquiry", f"{kind} {json.dumps(question, sort_keys=True)}").hexdigest()
    same, now = Inquiry.objects.filter(key=key).order_by("-pk"), timezone.now()
    answered = same.filter(trouble="").exclude(answer=None)
    is_open = Q(ended_at=None, asked_at__gt=now - LONGEST)
    others = same.filter(is_open | Q(ended_at__gt=now - FAILURE_KEPT, cancelled_at=None))
    if by is not None:  # it stays cancelled for that user, who asks again by a button
        others |= same.filter(cancelled_by=by)
    return answered.first() or others.first() or ask(kind, question, by=by, key=key)


def take_up(inquiry_id: int) -> Inquiry | None:
    """The inquiry for the first caller; None for all others."""
    waiting = Inquiry.objects.filter(pk=inquiry_id, began_at=None, ended_at=None)
    if not waiting.update(began_at=Now()):
        return None
    return Inquiry.objects.get(pk=inquiry_id)


def ask_again(inquiry: Inquiry, *, by: User | None) -> Inquiry:
    """Ask what was cancelled. Raises InquiriesBusy, SealBroken."""
    kind = InquiryKind(inquiry.kind)
    return ask(kind, question_of(inquiry), by=by, key=inquiry.key)


def question_of(inquiry: Inquiry) -> dict[str, Any]:
    """Raises SealBroken."""
    question: dict[str, Any] = unseal(inquiry.sealed)
    return question


def settle(inquiry: Inquiry, answer: Mapping[str, Any] | None = None, *, trouble: str = "") -> None:
    """Store the answer, or the reason why there is none."""
    text = json.dumps(answer).replace("\\u0000", "")
    if len(text) > MOST_BYTES:
        text, trouble = "null", TOO_LARGE
    Inquiry.objects.filter(pk=inquiry.pk, ended_at=None).update(
        answer=json.loads(text), trouble=trouble[:1000].replace("\0", ""), ended_at=Now()
    )


def tidy_inquiries() -> None:
    """End inquiries whose job is lost, and remove old answers."""
    for inquiry in Inquiry.objects.filter(ended_at=None, asked_at__lt=timezone.now() - LONGEST):
        release_orphaned_grant(str(inquiry.pk))
        settle(inquiry, trouble=inquiry.why_failed)
    Inquiry.objects.filter(asked_at__lt=timezone.now() - KEPT).delete()


def _enqueue(inquiry: Inquiry) -> None:
    try:
        INQUIRY.enqueue(inquiry.pk)
    except RedisError:
        settle(inquiry, trouble=NO_QUEUE)

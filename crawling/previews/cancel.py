"""A user cancels a question of pages."""

from __future__ import annotations

from functools import partial

from django.contrib.auth.models import User

from crawling.base.audit import note
from crawling.base.errors import WrongState
from crawling.installation.permissions import require_own
from crawling.jobs.cancel import cancel_jobs
from crawling.models import BackgroundJob, Inquiry
from crawling.previews.run_comparison import asked_together


def cancel_inquiry(inquiry: Inquiry, *, by: User | None) -> Inquiry:
    """Cancel an inquiry, with those that one page has asked together with it, for the user who
    asked or an administrator. Raises PermissionDenied, and WrongState if it has ended.
    """
    require_own(by, inquiry.by, f"inquiry {inquiry.pk}")
    jobs = BackgroundJob.objects.filter(pk__in=asked_together(inquiry))
    cancelled = cancel_jobs(jobs, by, partial(note, by, inquiry, "cancelled"))
    inquiry.refresh_from_db()
    if not cancelled:
        raise WrongState(f"Inquiry {inquiry.pk} is {inquiry.state} already.")
    return inquiry

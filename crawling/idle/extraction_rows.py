"""Extractions that are asked for: rules on the stored pages of a run."""

from __future__ import annotations

from collections.abc import Mapping

from django.contrib.auth.models import User
from django.db.models import QuerySet

from crawling.errors import WrongState
from crawling.jobs.rq_jobs import EXTRACTION
from crawling.models import Extraction, Run


def ask_extraction(run: Run, rules: Mapping[str, str], *, by: User | None) -> Extraction:
    """Let a background job extract again; asked twice for the same rules, it does so once.

    rules: CSS selectors by name. Raises WrongState while it does so by other rules.
    """
    extraction = open_extraction(run, rules, by=by)
    EXTRACTION.ask(extraction.pk)
    return extraction


def open_extraction(run: Run, rules: Mapping[str, str], *, by: User | None) -> Extraction:
    """The one that is to be continued, or a new one. Raises WrongState as `ask_extraction` does."""
    row = Extraction(run=run, rules=dict(rules), by=by)
    Extraction.objects.bulk_create([row], ignore_conflicts=True)
    extraction = Extraction.objects.select_related("run__crawl").get(run=run, ended_at=None)
    if extraction.rules != rules:
        raise WrongState(
            f"Run {run.number} is being read again by other rules; ask again once that is done."
        )
    return extraction


def latest_extraction(run: Run) -> Extraction | None:
    return run.extractions.order_by("-pk").first()


def open_extractions() -> QuerySet[Extraction]:
    """Those that are to be continued."""
    return Extraction.objects.filter(ended_at=None, run__removal_asked_at=None)

"""The background jobs of extraction: one reads a run's stored pages again for other rules, and
replaces their extracted rows, page by page; others try rules on pages, or read the tables of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User

from crawling.base.errors import WrongState
from crawling.jobs.enqueue import open_job, request_job
from crawling.jobs.kinds import JobEffect, JobEvent, JobKind, JobResult, JobScope
from crawling.jobs.running_job import RunningJob
from crawling.models import BackgroundJob, Run
from crawling.previews.jobs import question_kind

#: the tree of one document at a time
MEMORY_MIB = 96


def _work(job: RunningJob) -> JobResult:
    # what reads documents is imported by those who need it
    from crawling.uses.extraction.reading import extract_again

    return extract_again(job)


EXTRACTION = JobKind(
    name="extraction",
    label="extraction",
    done="extracted",
    work=_work,
    memory=lambda job: MEMORY_MIB,
    # the rows are the run's: they go with it and with withdrawn pages; the job has counts of them
    effects={
        JobEvent.DELETED: JobEffect.FORGET,
        JobEvent.WITHDRAWN: JobEffect.KEEP,
        JobEvent.RESTORED: JobEffect.KEEP,
        JobEvent.REWRITTEN: JobEffect.KEEP,
    },
)


def request_extraction(run: Run, rules: Mapping[str, str], *, by: User | None) -> BackgroundJob:
    """Let a background job extract again; asked twice for the same rules, it does so once.

    rules: CSS selectors by name. Raises WrongState while it does so by other rules.
    """
    return _of_rules(request_job(EXTRACTION, run, {"rules": dict(rules)}, by=by), rules)


def open_extraction(run: Run, rules: Mapping[str, str], *, by: User | None) -> BackgroundJob:
    """Begin an extraction for a command that does it itself."""
    return _of_rules(open_job(EXTRACTION, run, {"rules": dict(rules)}, by=by), rules)


def _of_rules(job: BackgroundJob, rules: Mapping[str, str]) -> BackgroundJob:
    if job.spec["rules"] != rules:
        raise WrongState("The run is being read again by other rules; ask again once that is done.")
    return job


def _preview(question: Mapping[str, Any], number: int) -> dict[str, Any]:
    from crawling.uses.extraction.rule_previews import answer_preview

    return answer_preview(question)


def _tables(question: Mapping[str, Any], number: int) -> dict[str, Any]:
    from crawling.uses.extraction.page_tables import answer_tables

    return answer_tables(question)


RULES = question_kind("rules", "preview of extraction rules", _preview, scope=JobScope.CRAWL)
PAGE_TABLES = question_kind("tables", "tables of a page", _tables, scope=JobScope.CRAWL)
KINDS = (EXTRACTION, RULES, PAGE_TABLES)

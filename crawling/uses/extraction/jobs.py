"""The background job that extracts again: a run's stored pages are read for other extraction rules,
and their extracted rows are replaced, page by page.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.contrib.auth.models import User

from crawling.base.errors import WrongState
from crawling.jobs.enqueue import ask_job, open_job
from crawling.jobs.kinds import JobEffect, JobEvent, JobKind, JobResult
from crawling.jobs.running_job import RunningJob
from crawling.models import BackgroundJob, Run

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


def ask_extraction(run: Run, rules: Mapping[str, str], *, by: User | None) -> BackgroundJob:
    """Let a background job extract again; asked twice for the same rules, it does so once.

    rules: CSS selectors by name. Raises WrongState while it does so by other rules.
    """
    return _of_rules(ask_job(EXTRACTION, run, {"rules": dict(rules)}, by=by), rules)


def open_extraction(run: Run, rules: Mapping[str, str], *, by: User | None) -> BackgroundJob:
    """The same for a command that does it itself."""
    return _of_rules(open_job(EXTRACTION, run, {"rules": dict(rules)}, by=by), rules)


def _of_rules(job: BackgroundJob, rules: Mapping[str, str]) -> BackgroundJob:
    if job.spec["rules"] != rules:
        raise WrongState("The run is being read again by other rules; ask again once that is done.")
    return job

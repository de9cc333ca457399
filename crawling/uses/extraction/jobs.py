"""The background jobs of extraction. One reads a run's stored pages again by other rules, and
replaces their extracted rows, page by page. Others preview rules on pages, or read the tables of
one page.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User

from crawling.base.errors import NotFound, WrongState
from crawling.datasets.extracted_fields import AGAIN, FieldRules, field_rules
from crawling.jobs.enqueue import open_job, request_job
from crawling.jobs.kinds import JobEffect, JobEvent, JobKind, JobResult, JobScope
from crawling.jobs.running_job import RunningJob
from crawling.models import BackgroundJob, Run
from crawling.previews.jobs import question_kind
from crawling.runs.crawls.extractor_rules import ExtractorRules, named_rules

#: enough for the tree of one document
MEMORY_MIB = 96


def _extract_again(job: RunningJob) -> JobResult:
    # readers of documents are imported only where they are needed
    from crawling.uses.extraction.reading import extract_again

    return extract_again(job)


EXTRACTION = JobKind(
    name=AGAIN,
    label="extraction",
    done="extracted",
    work=_extract_again,
    memory=lambda job: MEMORY_MIB,
    # the rows belong to the run, so they are deleted with it and with withdrawn pages; the job
    # itself has only counts
    effects={
        JobEvent.DELETED: JobEffect.FORGET,
        JobEvent.WITHDRAWN: JobEffect.KEEP,
        JobEvent.RESTORED: JobEffect.KEEP,
        JobEvent.REWRITTEN: JobEffect.KEEP,
    },
)


def request_extraction(
    run: Run, rules: Mapping[str, str], *, by: User | None, extractor: str = ""
) -> BackgroundJob:
    """Request a background job that extracts again. A second request with the same rules has no
    effect while the job is open.

    rules: CSS selectors by name. extractor: the extractor with some of these rules, with its
    revision. Raises WrongState while a job extracts by other rules.
    """
    spec = {"rules": dict(rules), "extractor": extractor}
    return _require_same_rules(request_job(EXTRACTION, run, spec, by=by), rules)


def request_by_extractor(run: Run, reference: str, *, by: User | None) -> BackgroundJob:
    """Request the same by the rules of an extractor (reference: as an order names it) and the run's
    own rules. Raises NotFound or WrongState.
    """
    named, rules = rules_by_extractor(run, reference)
    return request_extraction(run, rules, by=by, extractor=named)


def rules_by_extractor(run: Run, reference: str) -> tuple[str, dict[str, str]]:
    """The name of the extractor with its revision, and its rules together with the run's own.
    Raises NotFound.
    """
    found = named_rules(reference)
    if found is None:
        raise NotFound(f"There is no extractor {reference!r}.")
    return found.reference, newest_rules_of(field_rules(run), found)


def newest_rules_of(used: FieldRules, wanted: ExtractorRules) -> dict[str, str]:
    """The rules of an extractor. If the run's rules are of the same extractor, the run's own rules
    are added.
    """
    before = named_rules(used.extractor)
    if before is None or before.name != wanted.name:
        return dict(wanted.rules)
    own = {name: rule for name, rule in used.rules.items() if before.rules.get(name) != rule}
    return {**wanted.rules, **own}


def open_extraction(
    run: Run, rules: Mapping[str, str], *, by: User | None, extractor: str = ""
) -> BackgroundJob:
    """Open the job of an extraction for a command that extracts itself."""
    spec = {"rules": dict(rules), "extractor": extractor}
    return _require_same_rules(open_job(EXTRACTION, run, spec, by=by), rules)


def _require_same_rules(job: BackgroundJob, rules: Mapping[str, str]) -> BackgroundJob:
    if job.spec["rules"] != rules:
        raise WrongState("The run is being read again by other rules; ask again once that is done.")
    return job


def _answer_preview(question: Mapping[str, Any], number: int) -> dict[str, Any]:
    from crawling.uses.extraction.rule_previews import answer_preview

    return answer_preview(question)


def _answer_tables(question: Mapping[str, Any], number: int) -> dict[str, Any]:
    from crawling.uses.extraction.page_tables import answer_tables

    return answer_tables(question)


RULES = question_kind("rules", "preview of extraction rules", _answer_preview, scope=JobScope.CRAWL)
PAGE_TABLES = question_kind("tables", "tables of a page", _answer_tables, scope=JobScope.CRAWL)
KINDS = (EXTRACTION, RULES, PAGE_TABLES)

"""The rules with which the extracted fields of a run were made, and the number of pages with fields
made by other rules. Rules can be edited while a run fetches, and stored pages can be read again by
new rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from crawling.datasets.parts import MOST_BEHIND
from crawling.frontier import counts_of
from crawling.jobs.job_rows import visible_jobs
from crawling.models import BackgroundJob, OrderRevision, Page, Run
from crawling.models.jobs import ENDED_STATES

#: the kind of the job that reads stored pages again by new rules; a use of crawls declares it
AGAIN = "extraction"
#: the fields of an order that determine the extracted fields
FIELDS = ("extract", "extractor")
#: the time within which an active run follows an edit
FOLLOWED = timedelta(seconds=10)


@dataclass(frozen=True)
class FieldRules:
    #: CSS selectors by the names of fields
    rules: Mapping[str, str]
    #: the extractor from which some of the rules come, as an order names it; empty if there is none
    extractor: str = ""
    #: the job that reads, or has read, the pages again by these rules; None if they are the order's
    #: rules
    job: BackgroundJob | None = None
    #: the time before which pages were fetched and got their fields by earlier rules; None if these
    #: rules made all fields
    since: datetime | None = None


def field_rules(run: Run) -> FieldRules:
    """The rules with which the extracted fields of a run were last made."""
    job, edits = _latest_job(run), _rule_edits(run)
    ended = run.finished_at if run.state in ENDED_STATES else None
    later = [edit for edit in edits if ended and edit.at > ended]
    during = [edit.at for edit in edits if edit not in later and _has_job_begun(run, edit.at)]
    since = max(during, default=None)
    if job and (since is None or job.asked_at > since):
        return FieldRules(dict(job.spec["rules"]), job.spec.get("extractor", ""), job)
    told = {name: getattr(run.crawl, name) for name in FIELDS}
    for edit in reversed(later):
        told |= {name: edit.changes[name][0] for name in FIELDS if name in edit.changes}
    return FieldRules(dict(told["extract"]), told["extractor"], None, since)


def _latest_job(run: Run) -> BackgroundJob | None:
    """The latest job that has changed a page. A job that was broken off before its first page has
    changed none.
    """
    jobs = visible_jobs().filter(kind=AGAIN, run=run)
    changing = Q(ended_at=None) | Q(trouble="") | Q(progress__done__gt=0)
    return jobs.filter(changing).order_by("-pk").first()


def latest_extraction(run: Run) -> BackgroundJob | None:
    """The latest job that reads, or was to read, the stored pages again for other rules."""
    return visible_jobs().filter(kind=AGAIN, run=run).order_by("-pk").first()


def _rule_edits(run: Run) -> Sequence[OrderRevision]:
    if run.crawl.revision == 1:
        return ()
    found = OrderRevision.objects.filter(crawl=run.crawl_id, changes__has_any_keys=FIELDS)
    return list(found.order_by("number"))


def _has_job_begun(run: Run, at: datetime) -> bool:
    return run.started_at is not None and run.started_at < at


def pages_with_older_fields(run: Run) -> tuple[int, int, BackgroundJob | None]:
    """The number of pages of the run with fields made by earlier rules (at most MOST_BEHIND), the
    number of all pages, and the open job, if any, that reads such pages again.
    """
    found = field_rules(run)
    if job := found.job:
        of = job.progress.get("of", counts_of([run.pk])[run.pk].fetched)
        is_done = job.ended_at is not None and not job.trouble
        behind = 0 if is_done else max(0, of - job.progress.get("done", 0))
        return min(behind, MOST_BEHIND), of, job if job.is_open else None
    if found.since is None:
        return 0, counts_of([run.pk])[run.pk].fetched, None
    until = min(found.since + FOLLOWED, timezone.now())
    older = Page.objects.filter(run=run, fetched_at__lt=until)
    return older[:MOST_BEHIND].count(), counts_of([run.pk])[run.pk].fetched, None

"""The background jobs that answer questions of pages: each kind of question is a kind of job.

A user waits for the answer, so they come first in their queue and are given up soon. Answers are
kept for a while and serve the same question.
"""

from __future__ import annotations

from datetime import timedelta

from crawling.jobs.kinds import JobEffect, JobEvent, JobKind, JobResult, JobScope
from crawling.jobs.running_job import RunningJob
from crawling.jobs.temporary_grant import release_orphaned_grant
from crawling.models import BackgroundJob
from crawling.models.inquiries import LATE, LONGEST, InquiryKind

#: the time for which an answer is kept and serves the same question
KEPT = timedelta(hours=1)
#: quotes pages of one crawl
OF_CRAWL = frozenset(
    {InquiryKind.TEXT_DIFF, InquiryKind.RUN_CHANGES, InquiryKind.RULES, InquiryKind.TABLES}
)
#: quotes pages that may be of several crawls, which its row does not name
OF_CRAWLS = frozenset({InquiryKind.COPIES, InquiryKind.TEXT_COPIES, InquiryKind.PASSAGES})


def _work(job: RunningJob) -> JobResult:
    # what reads documents is imported by those who need it
    from crawling.previews.inquiry_answers import answer

    return answer(job)


def _clear(job: BackgroundJob) -> None:
    """What a job was granted that was killed."""
    release_orphaned_grant(str(job.pk))


def _kind(kind: InquiryKind) -> JobKind:
    quotes = kind in OF_CRAWL | OF_CRAWLS
    # quotes are made anew when they are asked for again. A test fetch, an explanation of robots.txt
    # and looked-up names are of no stored page; test fetches of withdrawn addresses are removed by
    # the rule of the withdrawal.
    effect = JobEffect.FORGET if quotes else JobEffect.KEEP
    return JobKind(
        name=str(kind),
        label=str(kind.label),
        done="answered",
        work=_work,
        effects=dict.fromkeys(JobEvent, effect),
        seconds=90,
        at_front=True,
        scope=JobScope.CRAWL if kind in OF_CRAWL else JobScope.INSTALLATION,
        attempts=1,
        within=LONGEST,
        late=LATE,
        kept=KEPT,
        clear=_clear,
        is_of_asker=True,
    )


QUESTIONS = tuple(_kind(kind) for kind in InquiryKind)

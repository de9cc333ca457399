"""The background jobs that answer inquiries of pages. Each kind of inquiry is a kind of job.

A user waits for the answer, so these jobs come first in their queue and are given up soon. Answers
are kept for a while, and serve equal questions.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from crawling.jobs.kinds import JobEffect, JobEvent, JobKind, JobResult, JobScope
from crawling.jobs.running_job import RunningJob
from crawling.jobs.temporary_grant import release_orphaned_grant
from crawling.models import BackgroundJob, Inquiry
from crawling.models.inquiries import LATE, LONGEST, QUESTIONS, InquiryKind
from crawling.previews.inquiries import Answer

#: the time for which an answer is kept and serves equal questions
KEPT = timedelta(hours=1)
# test fetches, explanations of robots.txt and looked-up names are about no stored page; test
# fetches of withdrawn addresses are removed by the withdrawal's rule
QUOTES_NOTHING = dict.fromkeys(JobEvent, JobEffect.KEEP)
#: quotations are made anew when they are requested again
QUOTES_PAGES = dict.fromkeys(JobEvent, JobEffect.FORGET)


def question_kind(
    name: str,
    label: str,
    answer: Answer,
    *,
    effects: Mapping[JobEvent, JobEffect] = QUOTES_PAGES,
    scope: JobScope = JobScope.INSTALLATION,
) -> JobKind:
    """Jobs that answer one kind of inquiry.

    scope: CRAWL if the answer quotes pages of one crawl, since a row cannot name several crawls.
    """
    QUESTIONS[name] = label
    return JobKind(
        name=name,
        label=label,
        done="answered",
        work=partial(_work, answer),
        effects=effects,
        seconds=90,
        at_front=True,
        scope=scope,
        attempts=1,
        within=LONGEST,
        late=LATE,
        kept=KEPT,
        clear=_release_grant,
        is_of_asker=True,
        is_run_again=False,
        asked_with=_asked_with,
        about=lambda job: Inquiry(pk=job.pk, kind=job.kind),
    )


def _work(answer: Answer, job: RunningJob) -> JobResult:
    # readers of documents are imported only where they are needed
    from crawling.previews.inquiry_answers import answer_inquiry

    return answer_inquiry(answer, job)


def _asked_with(job: BackgroundJob) -> set[int]:
    from crawling.previews.run_comparison import asked_together

    return asked_together(job)


def _release_grant(job: BackgroundJob) -> None:
    """Release the grant of a job that was killed."""
    release_orphaned_grant(str(job.pk))


def _kind_of(kind: InquiryKind, **more: Any) -> JobKind:
    def answer(question: Mapping[str, Any], number: int) -> dict[str, Any]:
        from crawling.previews.inquiry_answers import ANSWERS

        return ANSWERS[kind](question, number)

    return question_kind(str(kind), str(kind.label), answer, **more)


KINDS = (
    *(
        _kind_of(kind, effects=QUOTES_NOTHING)
        for kind in (InquiryKind.TEST_FETCH, InquiryKind.ROBOTS, InquiryKind.SEED_NAMES)
    ),
    # about pages of two crawls, perhaps
    _kind_of(InquiryKind.TEXT_DIFF),
    _kind_of(InquiryKind.PICTURE_DIFF),
    _kind_of(InquiryKind.RENDERING_DIFF, scope=JobScope.CRAWL),
    _kind_of(InquiryKind.RUN_CHANGES, scope=JobScope.CRAWL),
)

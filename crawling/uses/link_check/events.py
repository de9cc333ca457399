"""Problems are counted once all pages of a run were read again."""

from __future__ import annotations

from crawling.installation.events import run_read
from crawling.jobs.enqueue import ask_job
from crawling.models import Run
from crawling.uses.link_check.jobs import PROBLEM_COUNTS


def _count_again(run: Run) -> None:
    ask_job(PROBLEM_COUNTS, run, by=None)


run_read.connect(_count_again)

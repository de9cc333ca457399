"""kill -9 of the job that removes records, at random moments: what is withdrawn is in no file
afterwards, and all else is as it was.
"""

from __future__ import annotations

import random
import time

import pytest

from crawling.archive.files import remove_abandoned
from crawling.archive.reader import page_with_content, record_of
from crawling.models import Page
from crawling.runs.start import start_run
from crawling.uses.withdrawals.withdrawing import withdraw_pages
from tests.crawling.archive.judging import files_of, judge
from tests.crawling.uses.withdrawals.test_withdrawing import SHARED, bytes_of, page, references
from tests.stack import running_stack, wait_until

PAGES, KILLS = 150, 6
JOB = """
from pathlib import Path
from crawling.uses.withdrawals.file_removal import remove_records
Path({begun!r}).touch()
remove_records({pk})
"""
#: a job takes about a second
MOST_SECONDS = 1.0


@pytest.mark.timeout(600)
@pytest.mark.drill  # each step is broken off in test_withdrawing
def test_a_killed_job_leaves_nothing_behind_and_takes_nothing_else(
    make_site, crawl_to_the_end, work_off, tmp_path
):
    dice = random.Random(1)
    paths = [f"/{kind}/{number}" for kind in ("kept", "gone", "same") for number in range(PAGES)]
    site = make_site(
        {"/": page("Home", *paths)}
        | {path: page(dice.randbytes(20_000).hex()) for path in paths}
        | {f"/gone/{number}": page(f"secret {dice.random()}") for number in range(PAGES)}
        | {f"/same/{number}": SHARED for number in range(PAGES)}
    )
    run = crawl_to_the_end(f"{site.url}/")
    second = work_off(start_run(run.crawl))
    holder = Page.objects.get(run=run, url__url__contains="/same/", is_revisit=False)
    asked = {"kind": "pattern", "text": f"/gone/|{holder.url.url}$", "reason": "drill", "by": None}
    withdrawal = withdraw_pages(run.crawl, None, **asked, at_once=True)
    before = {one.pk: record_of(page_with_content(one)).payload for one in _pages()}

    killed = 0
    with running_stack(tmp_path) as stack:
        for attempt in range(KILLS + 1):
            begun = tmp_path / f"begun-{attempt}"
            job = stack.start(["shell", "-c", JOB.format(begun=str(begun), pk=withdrawal.pk)])
            if attempt < KILLS:
                wait_until(begun.exists)
                time.sleep(dice.uniform(0, MOST_SECONDS))  # the moment of the kill is drawn
                killed += job.poll() is None
                job.kill()
            job.wait(120)
            remove_abandoned()
    withdrawal.refresh_from_db()

    assert withdrawal.state == "removed", withdrawal.trouble
    assert killed
    assert {one.pk: record_of(page_with_content(one)).payload for one in _pages()} == before
    references(run, second)
    for one in (run, second):
        judge(one)
        assert b"secret 0." not in bytes_of(one)
        assert all(file.run_id == one.pk for file in files_of(one))


def _pages():
    return Page.objects.select_related("url", "archive_file", "run")

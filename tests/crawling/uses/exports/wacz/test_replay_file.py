"""A run whose order says so has its WACZ file without anyone asking for it."""

from __future__ import annotations

from crawling.jobs.running import work_here
from crawling.models import BackgroundJob
from crawling.uses.exports.jobs import WACZ, ask_for_replay_files
from crawling.uses.exports.state import readable_export


def test_a_replay_file_is_made_at_the_end_of_a_run_that_wants_one(make_site, crawl_to_the_end):
    site = make_site({"/": "<title>Home</title>"})
    wanted = crawl_to_the_end(f"{site.url}/", replay_file=True)
    other = crawl_to_the_end(f"{site.url}/", name="Other")

    ask_for_replay_files()
    ask_for_replay_files()

    (job,) = BackgroundJob.objects.filter(kind=WACZ.name)
    assert (job.run_id, job.by) == (wanted.pk, None)
    work_here(job)
    ask_for_replay_files()
    assert readable_export(wanted, WACZ).pages == 1
    assert readable_export(other, WACZ) is None
    assert BackgroundJob.objects.filter(kind=WACZ.name).count() == 1

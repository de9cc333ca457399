"""A run whose order says so has its WACZ file without anyone asking for it."""

from __future__ import annotations

from crawling.jobs.running import run_in_this_process
from crawling.models import BackgroundJob
from crawling.runs.start import start_run
from crawling.uses.exports.jobs import WACZ, ask_for_replay_files
from crawling.uses.exports.state import readable_export
from tests.crawling.conftest import do_shifts
from tests.crawling.pages import browser, soup


def test_a_replay_file_is_made_at_the_end_of_a_run_that_wants_one(make_site, crawl_to_the_end):
    site = make_site({"/": "<title>Home</title>"})
    wanted = crawl_to_the_end(f"{site.url}/", replay_file=True)
    other = crawl_to_the_end(f"{site.url}/", name="Other")

    ask_for_replay_files()
    ask_for_replay_files()

    (job,) = BackgroundJob.objects.filter(kind=WACZ.name)
    assert (job.run_id, job.by) == (wanted.pk, None)
    run_in_this_process(job)
    ask_for_replay_files()
    assert readable_export(wanted, WACZ).pages == 1
    assert readable_export(other, WACZ) is None
    assert BackgroundJob.objects.filter(kind=WACZ.name).count() == 1


def test_each_run_that_has_ended_gets_one_not_the_latest_alone(make_site, crawl_to_the_end):
    first = crawl_to_the_end(f"{make_site({'/': 'x'}).url}/", replay_file=True)
    second = do_shifts(start_run(first.crawl))
    third = start_run(first.crawl)

    ask_for_replay_files()

    jobs = BackgroundJob.objects.filter(kind=WACZ.name)
    assert set(jobs.values_list("run", flat=True)) == {first.pk, second.pk}
    do_shifts(third)
    ask_for_replay_files()
    assert set(jobs.values_list("run", flat=True)) == {first.pk, second.pk, third.pk}


def test_the_page_of_each_run_has_a_button_that_makes_its_file(make_site, crawl_to_the_end):
    first = crawl_to_the_end(f"{make_site({'/': 'x'}).url}/")
    second = do_shifts(start_run(first.crawl))
    client, address = browser("operator"), f"/crawls/{first.crawl_id}/?run="

    client.post(soup(client.get(f"{address}1")).select_one("#make-replay")["formaction"])

    run_in_this_process(BackgroundJob.objects.get(kind=WACZ.name))
    assert readable_export(first, WACZ).pages == 1
    assert readable_export(second, WACZ) is None
    assert not soup(client.get(f"{address}1")).select_one("#make-replay")
    assert soup(client.get(f"{address}2")).select_one("#make-replay")
    assert not soup(browser("viewer").get(f"{address}2")).select_one("#make-replay")

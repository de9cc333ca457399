"""Pages are visited again by how often they change, within a budget (SEEDS B8)."""

import itertools
from collections import Counter
from datetime import timedelta

import django_rq
import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.utils import timezone

from crawling.base.errors import BadOrder
from crawling.jobs.due_jobs import request_due_jobs
from crawling.jobs.rq_jobs import IDLE
from crawling.models import BackgroundJob, Page, PlannedRevisit, RevisitPlan, Run, RunState
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.revisions import edit_crawl
from crawling.runs.start import start_run
from crawling.uses.revisits.jobs import REVISITS
from crawling.uses.revisits.planner import plan_crawl
from crawling.uses.revisits.plans import crawls_to_plan, store_plan, withdrawals_of
from crawling.uses.withdrawals.withdrawing import withdraw_pages
from tests.crawling.fetching.pipeline.test_crawl_path import links

HTML = {"Content-Type": "text/html"}
STILL = [f"/still{n}" for n in range(4)]
EVERY = {"/", "/news", *STILL}


@pytest.fixture
def site(make_site):
    """A page that is another each time, and five that stay as they are."""
    count = iter(range(1000))
    return make_site(
        {
            "/": links("/news", *STILL),
            "/news": lambda request: (200, HTML, f"news {next(count)}"),
            **{path: f"the same text on {path}" for path in STILL},
        }
    )


def pass_days(days):
    """Let everything have happened so many days before."""
    earlier = timedelta(days=days)
    Page.objects.update(fetched_at=F("fetched_at") - earlier)
    PlannedRevisit.objects.update(
        visited_at=F("visited_at") - earlier, next_at=F("next_at") - earlier
    )


@pytest.fixture
def again(work_off, site):
    """Runs the crawl again, and plans; returns the paths that were requested."""

    def run_again(crawl, *, is_planned=True):
        before = len(site.paths)
        work_off(start_run(crawl))
        if is_planned:
            plan_crawl(crawl.pk)
        return site.paths[before:]

    return run_again


@pytest.fixture
def crawl(site, crawl_to_the_end):
    crawl = crawl_to_the_end(f"{site.url}/", visits_a_day=3).crawl
    plan_crawl(crawl.pk)
    return crawl


def planned(crawl, site):
    rows = PlannedRevisit.objects.filter(crawl=crawl)
    return {row.url.removeprefix(site.url): row for row in rows}


def test_what_changes_often_is_requested_more_and_the_budget_holds(site, crawl, again):
    days, requested = 8, Counter()
    for day in range(1, days + 1):
        pass_days(1)
        requested.update(again(crawl))
        assert requested.total() <= 3 * day + 1

    assert requested["/news"] > max(requested[path] for path in STILL)
    assert set(requested) == EVERY
    assert requested.total() >= 0.5 * 3 * days  # a day has one run, so some intervals are longer
    latest = crawl.runs.get(is_latest=True)
    assert latest.urls.filter(state="s").count() == len(EVERY)  # the others are taken over
    rows = planned(crawl, site)
    assert rows["/news"].rate > 5 * max(rows[path].rate for path in STILL)
    assert rows["/news"].wait_days < min(rows[path].wait_days for path in STILL)


def test_a_plan_says_how_often_each_page_changes_and_what_is_expected(site, crawl, again):
    pass_days(3)
    again(crawl)
    plan, rows = RevisitPlan.objects.get(), planned(crawl, site)

    asked = [row for row in rows.values() if row.visits]
    assert (plan.pages, plan.visits, plan.run_number) == (len(EVERY), len(asked), 2)
    assert plan.changes == sum(row.changes for row in asked) == rows["/news"].changes
    assert all(0 < row.low < row.rate < row.high for row in rows.values())
    assert sum(1 / row.wait_days for row in rows.values()) == pytest.approx(3)
    assert all(row.visited_at < row.next_at for row in rows.values())
    fresh = {name: means["freshness"] for name, means in plan.policies.items()}
    assert 1 > fresh["optimal"] >= max(fresh["uniform"], fresh["proportional"]) > 0
    (host,) = plan.hosts
    assert (host["pages"], host["visits"], host["changes"]) == (6, plan.visits, plan.changes)
    assert host["visits_a_day"] == pytest.approx(3)
    assert (host["freshness"], host["age_days"]) == pytest.approx(
        (fresh["optimal"], plan.policies["optimal"]["age_days"])
    )
    assert plan.at_end["freshness"] == pytest.approx(host["freshness_at_end"])


def test_pages_that_are_due_together_wait_for_their_turn_and_for_visits_beside_the_plan(
    site, crawl, again
):
    PlannedRevisit.objects.all().delete()
    pass_days(1)

    assert len(again(crawl)) == len(EVERY)  # of three that the budget has

    turns = sorted(row.next_at for row in planned(crawl, site).values())
    assert turns[0] > timezone.now() + timedelta(hours=23)
    assert all(after - before > timedelta(hours=7.9) for before, after in itertools.pairwise(turns))


def test_pages_that_full_runs_visited_together_share_the_days_until_all_are_due(
    site, crawl_to_the_end, work_off
):
    crawl = crawl_to_the_end(f"{site.url}/").crawl
    pass_days(1)
    work_off(start_run(crawl))
    edit_crawl(crawl, {"visits_a_day": 1, "visit_policy": "uniform"})

    plan_crawl(crawl.pk)

    turns = sorted(row.next_at for row in planned(crawl, site).values())
    assert {row.wait_days for row in planned(crawl, site).values()} == {len(EVERY)}
    assert turns[0] < timezone.now() + timedelta(days=len(EVERY) - 1)
    assert turns[-1] < timezone.now() + timedelta(days=len(EVERY) + 2)


def test_visits_beside_the_plan_hold_up_others_for_a_day_however_often_it_is_made_anew(
    crawl, again
):
    for _ in range(3):
        PlannedRevisit.objects.all().delete()
        pass_days(1)
        assert len(again(crawl)) == len(EVERY)  # of three that the budget has

    pass_days(0.5)
    assert again(crawl) == []
    pass_days(0.6)
    assert len(again(crawl)) == 1


@pytest.mark.parametrize(("days", "longest"), [(0, 366), (20, 20)])
def test_caching_headers_only_delay_a_visit_no_longer_than_the_order_says(
    make_site, crawl_to_the_end, days, longest
):
    kept = {**HTML, "Cache-Control": "max-age=8640000"}  # a hundred days
    site = make_site({"/": links("/kept", "/open"), "/kept": (200, kept, "kept"), "/open": "open"})
    run = crawl_to_the_end(f"{site.url}/", visits_a_day=100, revisit_days=days)

    plan_crawl(run.crawl_id)

    rows = planned(run.crawl, site)
    waits = {
        path: (row.next_at - row.visited_at).total_seconds() / 86400 for path, row in rows.items()
    }
    assert waits["/kept"] == pytest.approx(min(100, longest), abs=0.1)
    assert waits["/open"] < 1


def test_what_a_sitemap_calls_changed_since_the_last_visit_is_due(site, crawl_to_the_end, again):
    # a URL that is claimed before the sitemap is read waits for the next plan
    crawl = crawl_to_the_end(f"{site.url}/", visits_a_day=4, batch_size=1).crawl
    plan_crawl(crawl.pk)
    site.pages["/"] = links("/map.xml", "/news", *STILL)

    def sitemap(moment):
        entry = f"<loc>{site.url}{STILL[0]}</loc><lastmod>{moment.isoformat()}</lastmod>"
        xml = {"Content-Type": "application/xml"}
        site.pages["/map.xml"] = 200, xml, f"<urlset><url>{entry}</url></urlset>"

    def wait():
        PlannedRevisit.objects.update(next_at=timezone.now() + timedelta(days=9))
        PlannedRevisit.objects.filter(url=f"{site.url}/").update(next_at=timezone.now())

    wait()
    sitemap(timezone.now() + timedelta(days=1))
    assert again(crawl) == ["/", "/map.xml"]  # what is to come is no reason
    wait()
    pass_days(1)
    sitemap(timezone.now() - timedelta(hours=1))
    assert again(crawl) == ["/", "/map.xml", STILL[0]]
    wait()
    assert again(crawl) == ["/", "/map.xml"]  # visited since, and the sitemap is always asked for
    assert "/map.xml" not in planned(crawl, site)


def test_a_page_that_a_whole_run_did_not_meet_is_planned_no_more(site, crawl, again):
    site.pages["/"] = links("/news", *STILL[1:])
    site.pages[STILL[1]] = (404, {}, "")
    PlannedRevisit.objects.all().delete()  # all are due

    again(crawl)

    assert set(planned(crawl, site)) == EVERY - {STILL[0], STILL[1]}
    Run.objects.filter(crawl=crawl, number=2).update(state=RunState.STOPPED)
    plan_crawl(crawl.pk)
    assert set(planned(crawl, site)) == EVERY - {STILL[1]}  # a run that was stopped may lack pages


def test_a_visit_counts_before_a_plan_has_considered_it(site, crawl, again):
    pass_days(1)
    PlannedRevisit.objects.update(next_at=timezone.now())

    first, second = again(crawl, is_planned=False), again(crawl, is_planned=False)

    assert (sorted(first), second) == (sorted(EVERY), [])


def test_what_is_withdrawn_is_in_no_plan(site, crawl):
    before = withdrawals_of(crawl.pk)
    assert crawls_to_plan() == []
    user = User.objects.create(username="ada")
    withdraw_pages(crawl, None, kind="page", text=f"{site.url}/news", reason="asked for", by=user)

    assert set(planned(crawl, site)) == EVERY - {"/news"}
    assert crawls_to_plan() == [crawl.pk]
    late = RevisitPlan.objects.get()
    assert not store_plan(late, iter([{"crawl_id": crawl.pk}]), crawl.reuse, before)  # read before
    plan_crawl(crawl.pk)
    assert set(planned(crawl, site)) == EVERY - {"/news"}


def test_another_budget_is_planned_at_once_and_none_drops_the_plan(site, crawl_to_the_end):
    crawl = crawl_to_the_end(f"{site.url}/", visits_a_day=3).crawl
    plan_crawl(crawl.pk)
    assert crawls_to_plan() == []
    before = crawl.reuse

    edited = edit_crawl(crawl, {"visits_a_day": 5, "visit_policy": "uniform"})

    assert crawls_to_plan() == [crawl.pk]
    late = RevisitPlan.objects.get()
    assert not store_plan(late, iter([]), before, withdrawals_of(crawl.pk))  # of the old order
    plan_crawl(crawl.pk)
    plan = RevisitPlan.objects.get()
    assert (plan.visits_a_day, plan.policy) == (5, "uniform")
    assert edited.reuse["deduplicate"] == before["deduplicate"]

    edit_crawl(edited, {"visits_a_day": 0})

    assert not RevisitPlan.objects.exists()
    assert not PlannedRevisit.objects.exists()
    assert crawls_to_plan() == []


def test_without_an_archive_a_budget_is_refused_with_its_remedy(order):
    with pytest.raises(BadOrder) as refused:
        create_crawl(order("http://127.0.0.1:8900/", archive=False, visits_a_day=5))
    crawl = create_crawl(order("http://127.0.0.1:8900/", archive=False))
    with pytest.raises(BadOrder) as refused_later:
        edit_crawl(crawl, {"visits_a_day": 5})

    sentence = refused.value.errors["visits_a_day"]
    assert "requires the archive" in sentence
    assert "set it to 0" in sentence
    assert refused_later.value.errors == {"visits_a_day": sentence}


def test_the_scheduler_queues_a_plan_after_each_run_of_such_a_crawl(site, crawl_to_the_end):
    crawl_to_the_end(f"{site.url}/", name="another")
    crawl = crawl_to_the_end(f"{site.url}/", visits_a_day=3).crawl
    queue = django_rq.get_queue(IDLE)
    queue.empty()

    request_due_jobs()

    job = BackgroundJob.objects.get(kind=REVISITS.name)
    assert job.run.crawl == crawl
    queue.fetch_job(f"job-{job.pk}").perform()
    assert RevisitPlan.objects.get().pages == len(EVERY)
    assert crawls_to_plan() == []

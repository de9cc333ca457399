"""Numbers and states on the pages agree with each other and with the rows behind them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.template import Context, Template
from django.urls import reverse
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from allocation.models import Pool, Process, Request
from allocation.selectors import pool_cards
from allocation.services import create_pool
from allocation.values import NewClass
from crawling.dashboard.base.crawl_views import crawl_view
from crawling.dashboard.crawls.overview import read_overview
from crawling.dashboard.orders.forms.fields import as_sentence
from crawling.dashboard.run.charts import chart_of_all, chart_of_run
from crawling.dashboard.run.overview import shares_of_whole
from crawling.dashboard.templatetags.crawls import seconds
from crawling.frontier import counts_of, limit_reached
from crawling.models import AllowedNetwork, Run, RunCount, RunTotal, Shift
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.diagnosis import STARTING_SOON
from crawling.runs.shift_lifecycle import begin_shift
from crawling.runs.start import start_run
from tests.crawling.frontier.test_unchanged import versioned
from tests.crawling.pages import browser, soup


def text_of(client, name, *args, **query):
    return soup(client.get(reverse(name, args=args), query)).main.get_text(" ", strip=True)


def test_pages_that_the_server_confirms_are_the_same_in_a_comparison(
    make_site, crawl_to_the_end, work_off
):
    site = make_site({"/": versioned('<a href="/a">a</a>', '"1"'), "/a": versioned("old", '"a"')})
    first = crawl_to_the_end(f"{site.url}/")
    work_off(start_run(first.crawl))
    site.pages["/a"] = versioned("new", '"b"')
    work_off(start_run(first.crawl))
    viewer = browser("viewer")

    def compared(old, new):
        query = {"run": new, "against": old}
        address = f"/api/v1/crawls/{first.crawl_id}/changes"
        counts = viewer.get(address, query).json()["summary"]["counts"]
        return {kind: count for kind, count in counts.items() if count}

    assert compared(1, 2) == {"unchanged": 2}
    assert compared(2, 1) == {"unchanged": 2}
    assert compared(2, 3) == {"unchanged": 1, "changed": 1}
    page = text_of(viewer, "crawling:compare", first.crawl_id, run=3, against=2)
    assert "200 (not modified) → 200" in page


def test_a_run_of_confirmed_pages_says_so(make_site, crawl_to_the_end, work_off):
    site = make_site({"/": versioned("old", '"1"')})
    first = crawl_to_the_end(f"{site.url}/", name="Steady")
    work_off(start_run(first.crawl))
    viewer = browser("viewer")

    page = soup(viewer.get(reverse("crawling:crawl", args=[first.crawl_id])))

    facts = {fact.dt.get_text(): fact.dd.get_text() for fact in page.select("dl.facts > div")}
    assert facts["Not modified"] == "1"
    assert "unchanged" in text_of(viewer, "crawling:crawls")


def test_rates_add_up_and_only_a_run_with_a_live_shift_has_one(order, db):
    # the rate is of this minute and the last, so this one counts for a minute at least
    minute = timezone.now().replace(second=0, microsecond=0)
    runs = [
        start_run(create_crawl(order(f"http://127.0.0.1:{8900 + n}/", name=name)))
        for n, name in enumerate(("Atlas", "Busy", "Caught"))
    ]
    for run, pages in zip(runs, (333, 777, 5000), strict=True):
        begin_shift(run.processes.get(), epoch=1, worker="w")
        Run.objects.filter(pk=run.pk).update(started_at=minute - timedelta(minutes=1))
        RunCount.objects.create(run=run, process_number=3, minute=minute, fetched=pages)
    Shift.objects.filter(process__run=runs[2]).update(ended_at=timezone.now())

    now = read_overview()

    assert now.pages_per_second == pytest.approx(sum(one.rate for one in now.at_work))
    assert [one.crawl.name for one in now.at_work] == ["Busy", "Atlas"]
    assert now.working + now.resting == len(runs)
    assert "1 between two work sessions" in text_of(browser("viewer"), "home")
    idle = text_of(browser("operator"), "crawling:crawl", runs[2].crawl_id)
    assert "– not fetching now" in idle


def test_links_that_rules_keep_out_are_counted_on_the_page_of_the_crawl(
    make_site, crawl_to_the_end
):
    site = make_site({"/": '<a href="http://one.test/">1</a><a href="http://two.test/">2</a>'})
    run = crawl_to_the_end(f"{site.url}/")

    page = text_of(browser("viewer"), "crawling:crawl", run.crawl_id)

    assert "Excluded 0" in page
    assert "2 links out of scope" in page


def test_a_run_that_was_stopped_has_nothing_due(order, db):
    run = start_run(create_crawl(order("http://127.0.0.1:8900/", "http://127.0.0.1:8900/a")))
    Run.objects.filter(pk=run.pk).update(state="stopped", finished_at=timezone.now())

    page = text_of(browser("viewer"), "crawling:crawl", run.crawl_id)

    assert "Queued 2 not fetched when the run ended" in page
    assert "run ended" in page
    assert "1 with URLs not fetched" in page
    assert not [word for word in (" due ", "queued", "1 waiting") if word in page]


def test_the_interval_that_is_not_over_is_marked_and_an_ended_run_has_none(order, db):
    run = start_run(create_crawl(order("http://127.0.0.1:8900/")))
    now = timezone.now()
    Run.objects.filter(pk=run.pk).update(started_at=now - timedelta(minutes=5))
    run.refresh_from_db()

    assert [point.is_open for point in chart_of_run(run).points][-2:] == [False, True]
    assert [point.is_open for point in chart_of_all(1).points][-2:] == [False, True]
    run.finished_at = now
    assert not any(point.is_open for point in chart_of_run(run).points)


def test_pools_of_experiments_stand_in_no_list_of_pools(pool):
    classes = [NewClass("slots", "slots", "To be counted.", 3)]
    made = create_pool(name="experiment 1: naive", classes=classes, is_experiment=True)
    viewer = browser("viewer")

    assert [card.name for card in pool_cards()] == ["default"]
    assert "experiment 1" not in text_of(viewer, "home")
    assert viewer.get(reverse("allocation:pools")).url == reverse("allocation:pool", args=[pool.pk])
    assert "experiment 1" in text_of(viewer, "allocation:pool", made.pk)


def test_ports_the_wrong_way_round_are_told_on_their_field():
    with pytest.raises(ValidationError) as refusal:
        AllowedNetwork(network="127.0.0.1", port_from=8900, port_to=80).full_clean(
            validate_unique=False, validate_constraints=False
        )

    assert refusal.value.message_dict == {
        "port_to": ["Enter a port of 8900 or more, as *Port from* is 8900."]
    }


def test_a_url_at_the_start_of_a_message_keeps_its_small_letters():
    assert as_sentence("https://a.test/: unknown") == "https://a.test/: unknown"
    assert as_sentence("must be 1 or more") == "Must be 1 or more"


@pytest.mark.parametrize(
    ("span", "shown"),
    [
        (0, "0 s"),
        (0.05, "50 ms"),
        (0.004, "4 ms"),
        (0.0002, "< 1 ms"),
        (1, "1 s"),
        (1.254, "1.25 s"),
        (60, "60 s"),
    ],
)
def test_a_short_time_is_not_rounded_to_nothing(span, shown):
    assert seconds(span) == shown


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=12))
def test_shares_add_up_and_none_is_off_by_a_unit(parts):
    rounded = shares_of_whole(parts, 1000)

    assert sum(rounded) == 1000
    exact = [1000 * part / sum(parts) for part in parts]
    assert all(abs(one - other) < 1 for one, other in zip(rounded, exact, strict=True))


@pytest.mark.parametrize(
    ("failed", "words"), [(1, "Retry 1 failed URL"), (7, "Retry 7 failed URLs")]
)
def test_one_failure_is_not_called_all_of_them(failed, words):
    counts = {"failed": failed}
    page = {"causes": [{}], "view": {"counts": counts}, "is_latest": True, "crawl": {"pk": 1}}
    perms = {"crawling": {"change_crawljob": True}}
    context = Context({"page": {**page, "run": {"number": 1}}, "perms": perms})

    assert words in Template("{% include 'crawling/_crawl_causes.html' %}").render(context)


def test_charts_and_counts_of_a_run_tell_the_same_numbers(make_site, crawl_to_the_end):
    site = make_site({"/": '<a href="/a">a</a><a href="/gone">x</a>', "/a": "x"})
    run = crawl_to_the_end(f"{site.url}/")
    counts = counts_of([run.pk])[run.pk]

    chart = chart_of_run(run)

    assert (chart.fetched, chart.failed) == (counts.fetched, counts.failed) == (3, 1)
    assert counts.fetched == counts.succeeded + counts.failed + counts.excluded


def test_a_limit_is_told_with_separators_like_every_number(order, db):
    run = start_run(create_crawl(order("http://127.0.0.1:8900/", max_pages=2000)))
    RunTotal.objects.filter(run=run).update(fetched=2000)

    assert limit_reached(run) == "The limit of 2,000 pages is reached; more URLs are queued."


def test_a_run_without_a_single_success_is_failed_and_found_among_the_failed(
    make_site, crawl_to_the_end
):
    run = crawl_to_the_end(f"{make_site({}).url}/gone", name="In vain")

    assert run.state == "failed"
    assert "In vain" in text_of(browser("viewer"), "crawling:crawls", state="failed")
    assert [one.name for one in read_overview().worries] == ["In vain"]


def test_a_grant_without_a_worker_is_queued_in_the_words_of_a_grant(order, db):
    run = start_run(create_crawl(order("http://127.0.0.1:8900/", name="Library")))

    view = crawl_view(run.crawl)

    assert (view.state, view.reason) == ("queued", STARTING_SOON)
    assert STARTING_SOON in text_of(browser("viewer"), "crawling:crawls")


def test_the_overview_and_the_resources_count_the_same_waiting_crawls(order, db):
    claim = {"bandwidth": 60_000}
    start_run(create_crawl(order("http://127.0.0.1:8900/", name="holder", claim=claim)))
    seeds = ("http://127.0.0.1:8901/", "http://127.0.0.2:8901/")
    waiter = create_crawl(order(*seeds, name="waiter", claim=claim, processes=2))
    start_run(waiter)
    viewer = browser("viewer")

    assert Request.objects.filter(state="waiting").count() == 2
    assert "Waiting 1 1 for resources, 0 for a host" in text_of(viewer, "home")
    assert "3 processes, 1 waiting (2 requests in line)." in text_of(
        viewer, "allocation:pool", Pool.objects.get().pk
    )
    assert [card.waiting_runs for card in pool_cards()] == [1]
    # a run of which one process works does not wait, whatever the other requests
    Process.objects.filter(run_ref__startswith="run/", label__startswith="waiter").update(
        allocated=[0, 1, 0, 0, 0, 0]
    )
    assert [card.waiting_runs for card in pool_cards()] == [0]
    assert ", 0 waiting (2 requests in line)." in text_of(
        viewer, "allocation:pool", Pool.objects.get().pk
    )

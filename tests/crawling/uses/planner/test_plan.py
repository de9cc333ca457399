"""The capacity planner (SEEDS W16)."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from crawling.models import MinuteTotal, RunCount, RunRendering, RunTotal
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.uses.planner.installation_rates import measured_rates
from crawling.uses.planner.plan import PlannedNeed, plan_capacity
from crawling.uses.planner.planned_crawl import PlannedCrawl, read_planned_crawl


def test_the_default_is_the_case_of_the_source_document():
    plan = plan_capacity(PlannedCrawl())

    assert round(plan.value("pages_per_second"), -2) == 6200
    assert round(plan.value("stored") / 1e15, 1) == 1.5
    assert plan.value("disk") / 1e15 == pytest.approx(2.14, rel=0.01)
    assert plan.value("url_checksums") == plan.value("document_checksums") == 120e9
    assert plan.obstacle == ""


@given(
    hosts=st.integers(1, 10**6),
    delay=st.floats(0.01, 100),
    days=st.floats(0.1, 365),
    pages=st.integers(1, 10**10),
)
def test_a_plan_that_the_hosts_allow_has_no_obstacle_and_another_says_what_would_do(
    hosts, delay, days, pages
):
    planned = PlannedCrawl(hosts=hosts, delay_seconds=delay, days=days, pages=pages)
    plan = plan_capacity(planned)
    is_allowed = plan.value("pages_per_second") <= plan.value("polite_pages_per_second")

    assert is_allowed == (plan.obstacle == "")
    if not is_allowed:
        named = plan.obstacle.partition("at least ")[2].partition(" days")[0].replace(",", "")
        longer = planned.model_copy(update={"days": float(named) + 0.1})
        assert plan_capacity(longer).obstacle == ""


def test_workers_and_machines_are_whole_and_enough():
    plan = plan_capacity(
        PlannedCrawl(pages=1_000_001, days=1, worker_pages_per_second=3, machine_workers=2)
    )

    assert (plan.value("workers"), plan.value("machines")) == (4, 2)


ONE_A_SECOND = {"pages": 86_400, "days": 1, "rendered_page_seconds": 2}


def test_a_plan_without_rendered_pages_says_nothing_of_browsers():
    assert not [need for need in plan_capacity(PlannedCrawl()).needs if "rows" in need.key]


def test_rendered_pages_take_browsers_processor_memory_and_disk():
    plain = plan_capacity(PlannedCrawl(**ONE_A_SECOND))
    plan = plan_capacity(
        PlannedCrawl(
            **ONE_A_SECOND,
            rendered_percent=50,
            rendered_page_processor=3,
            rendered_page_kilobytes=40,
            worker_browser_pages=1,
            machine_workers=1,
        )
    )

    assert plan.value("rendered_pages_per_second") == 0.5
    assert (plan.value("browser_pages"), plan.value("browser_workers")) == (1, 1)
    assert plan.value("rendering_cores") == 1.5
    assert plan.value("browser_memory") == (512 + 305) * 1024**2
    assert plan.value("stored") - plain.value("stored") == pytest.approx(43_200 * 40_000)
    assert plan.value("machines") == 3, "a worker and one and a half busy cores"


@pytest.mark.parametrize(
    ("fields", "machines", "binds"),
    [
        ({"rendered_page_processor": 4}, 5, "the processor binds"),
        ({"rendered_page_processor": 0.5, "rendered_page_seconds": 8}, 8, "browser pages bind"),
    ],
)
def test_machines_name_what_binds(fields, machines, binds):
    planned = {**ONE_A_SECOND, "machine_workers": 1, "worker_browser_pages": 1, **fields}

    plan = plan_capacity(PlannedCrawl(**planned, rendered_percent=100))

    need = next(need for need in plan.needs if need.key == "machines")
    assert (need.value, need.formula.rpartition(": ")[2]) == (machines, binds)


def test_cost_counts_machines_and_disks():
    plan = plan_capacity(
        PlannedCrawl(
            pages=10_000_000,
            days=30,
            page_kilobytes=100,
            metadata_bytes=0,
            fill_percent=50,
            machine_hour_price=0.5,
            terabyte_month_price=20,
        )
    )

    assert plan.value("cost") == pytest.approx(30 * 24 * 0.5 + 2 * 20)
    assert plan.value("cost_per_million") == pytest.approx(plan.value("cost") / 10)


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (6200.4, "pages/s", "6,200 pages/s"),
        (1.5075e15, "bytes", "1.51 PB"),
        (999.6, "bytes", "1 kB"),
        (4.96e9, "bits/s", "4.96 Gbit/s"),
        (41.3, "lookups/s", "41.30 lookups/s"),
        (16, "", "16"),
    ],
)
def test_amounts_are_short(value, unit, words):
    assert PlannedNeed("key", "Label", value, unit, "").amount == words


def test_nonsense_is_refused_field_by_field():
    planned, errors = read_planned_crawl({"pages": "many", "days": "0", "fill_percent": "120"})

    assert planned is None
    assert errors == {
        "pages": "must be a whole number",
        "days": "must be more than 0.0",
        "fill_percent": "must be 100.0 or less",
    }


@pytest.mark.django_db
def test_rates_are_measured_from_the_last_day(order):
    run = start_run(create_crawl(order("http://127.0.0.1:8900/")))
    minute = timezone.now().replace(second=0, microsecond=0) - timedelta(minutes=10)
    RunCount.objects.create(
        run=run, process_number=0, minute=minute, fetched=6000, bytes=90_000_000
    )
    MinuteTotal.objects.create(
        minute=minute, fetched=6000, failed=0, discovered=0, bytes=90_000_000
    )

    rates = measured_rates()

    assert rates.worker_pages_per_second == 100
    assert rates.page_kilobytes == 15
    assert rates.stored_percent is None
    assert rates.rendered_percent is None

    RunRendering.objects.create(run=run, pages=1500)
    RunTotal.objects.update_or_create(run=run, defaults={"succeeded": 7000, "files": 1000})
    assert measured_rates().rendered_percent == 25


@pytest.mark.django_db
def test_the_page_plans_and_keeps_what_was_typed(admin_client):
    page = admin_client.get("/capacity-planner/?pages=1000000&days=7").content.decode()
    refused = admin_client.get("/capacity-planner/?pages=many&days=7")

    assert "1.65 pages/s" in page
    assert "crawl plan --pages 1000000 --days 7" in page
    assert refused.status_code == 422
    assert "Must be a whole number" in refused.content.decode()
    assert 'value="many"' in refused.content.decode()


@pytest.mark.django_db
def test_the_command_prints_the_plan_or_names_the_option_that_is_wrong():
    out = StringIO()
    call_command("crawl", "plan", "--pages", "864000", "--days", "1", "--json", stdout=out)

    needs = {need["key"]: need["value"] for need in json.loads(out.getvalue())["needs"]}
    assert needs["pages_per_second"] == 10
    with pytest.raises(CommandError, match="--days must be more than 0"):
        call_command("crawl", "plan", "--days", "0")

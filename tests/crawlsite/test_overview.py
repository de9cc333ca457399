"""The first page after the log-in: running and waiting crawls with reasons, those that need an
operator, in a fixed number of queries.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.db.models.signals import post_init
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from allocation.models import Pool
from crawling.dashboard.crawls.overview import SOME, read_overview
from crawling.dashboard.run.charts import chart_of_all, from_first_fetch
from crawling.installation.identity import set_identity
from crawling.models import Run, RunCount, RunTotal
from crawling.models.jobs import RunState
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.shift_lifecycle import begin_shift, note_work
from crawling.runs.start import start_run
from crawlsite import overview
from crawlsite.health.probes import ComponentHealth
from tests.crawling.conftest import loopback, order, pool  # noqa: F401  # fixtures
from tests.crawling.pages import browser, soup

HOME = reverse("home")
LIST, COUNT = reverse("attention"), reverse("attention-count")


@pytest.fixture
def operator(db):
    return browser("operator")


def test_an_empty_installation_says_what_to_do_and_which_parts_are_missing(operator):
    page = soup(operator.get(HOME))

    assert page.select_one(f"main a[href='{reverse('crawling:new')}']")
    headline = page.select_one(".headline").get_text()
    assert "Not in order: Workers, Scheduler, DNS resolver." in headline


def test_it_tells_what_fetches_what_waits_and_on_whom_and_what_failed(operator, order):  # noqa: F811
    runs = [
        start_run(
            create_crawl(
                order(f"http://127.0.0.1:{8900 + n}/", name=name, claim={"bandwidth": 60_000})
            )
        )
        for n, name in enumerate(("Atlas", "Busy", "Caught"))
    ]
    begin_shift(runs[0].processes.get(), epoch=1, worker="w")
    Run.objects.filter(pk=runs[2].pk).update(
        state="failed", finished_at=timezone.now(), reason="It claims too much."
    )
    now = timezone.now().replace(second=0, microsecond=0)
    RunCount.objects.create(
        run=runs[0],
        process_number=7,
        minute=now - timedelta(minutes=5),
        fetched=42,
        failed=2,
        bytes=1000,
    )

    page = soup(operator.get(HOME))

    text = page.main.get_text(" ", strip=True)
    assert "Fetching 1 crawl with a worker" in text
    assert "Waiting 1 1 for resources, 0 for a host" in text
    assert "1 crawl needs attention" in text
    assert "It claims too much." in text
    assert "Held by Atlas" in page.select_one(".idle").get_text(" ")
    assert "Pages 42 in the last hour" in text
    assert "Failed 2 URLs in the last hour" in text
    assert [
        data["value"] for data in page.select("figure.chart tbody tr:nth-last-child(6) data")
    ] == ["42", "2"]
    csv = b"".join(operator.get(reverse("overview-csv"))).decode()
    assert len(csv.splitlines()) == 62
    assert f"{(now - timedelta(minutes=5)).isoformat()},1,42,2,0,1000" in csv


def test_what_is_reserved_and_what_of_it_is_in_use_are_told_apart(operator, order):  # noqa: F811
    run = start_run(create_crawl(order("http://127.0.0.1:8900/", claim={"bandwidth": 60_000})))
    shift = begin_shift(run.processes.get(), epoch=1, worker="w")
    note_work(shift, [], {"fetch_slots": 1, "bandwidth": 120})

    bars = soup(operator.get(HOME)).select(".bars > li")

    told = {bar.span.get_text(): " ".join(bar.select_one(".number").text.split()) for bar in bars}
    assert told["fetch slots"].endswith("reserved, 1 in use")
    assert told["bandwidth"] == "58.6 of 97.7 MB/s reserved, 120 KB/s in use"
    assert told["memory"].endswith("reserved, 0 MB in use")

    note_work(shift, [], {"memory": 300})
    bars = soup(operator.get(HOME)).select(".bars > li")
    (memory,) = [bar for bar in bars if bar.span.get_text() == "memory"]
    assert "300 MB in use more than reserved, for a moment" in " ".join(
        memory.select_one(".number").text.split()
    )


def test_memory_beyond_what_is_reserved_is_explained_beside_it(operator, order):  # noqa: F811
    run = start_run(create_crawl(order("http://127.0.0.1:8900/")))
    shift = begin_shift(run.processes.get(), epoch=1, worker="w")
    held = soup(operator.get(HOME)).select(".bars > li")
    note_work(shift, [], {"memory": 4000})

    bars = {bar.span.get_text(): bar for bar in soup(operator.get(HOME)).select(".bars > li")}

    assert "more than reserved" not in str(held)
    assert "more than reserved, for a moment" in bars["memory"].get_text()
    assert [name for name, bar in bars.items() if "more than reserved" in bar.get_text()] == [
        "memory"
    ]


def test_a_refresh_is_the_changing_part_alone_and_304_while_nothing_changes(operator):
    first = operator.get(HOME, headers={"HX-Request": "true"})

    assert b"<html" not in first.content
    assert (
        operator.get(
            HOME, headers={"HX-Request": "true", "If-None-Match": first["ETag"]}
        ).status_code
        == 304
    )


def test_the_latest_runs_are_shown_and_first_while_nothing_fetches(operator, order):  # noqa: F811
    now = timezone.now()
    for n in range(7):
        run = start_run(create_crawl(order(f"http://127.0.0.1:{8900 + n}/", name=f"c{n}")))
        ended = {"state": "finished", "finished_at": now - timedelta(minutes=n)}
        Run.objects.filter(pk=run.pk).update(**ended)
        RunTotal.objects.update_or_create(run=run, defaults={"fetched": n})

    def shown(heading="at-work"):
        section = soup(operator.get(HOME)).select_one(f"section[aria-labelledby={heading}]")
        return section.h2.get_text(), [
            [row.th.get_text(strip=True), row.select_one("td.number").get_text()]
            for row in section.select("tbody tr")
        ]

    head, rows = shown()
    assert head.startswith("Latest runs No crawl is fetching.")
    assert rows == [[f"c{n}", str(n)] for n in range(5)]

    run = start_run(create_crawl(order("http://127.0.0.1:8990/", name="at work")))
    begin_shift(run.processes.get(), epoch=1, worker="w")
    head, rows = shown()
    assert (head.split()[0], [row[0] for row in rows]) == ("Fetching", ["at work"])
    head, rows = shown("ended")
    assert (head, len(rows)) == ("Latest runs View all", 5)
    assert soup(operator.get(HOME)).select_one("a[aria-label='Download: c0']")


def test_it_takes_the_same_queries_however_many_crawls_there_are(operator, order):  # noqa: F811
    def queries():
        with CaptureQueriesContext(connection) as captured:
            operator.get(HOME)
        return len(captured)

    def start(first, last):
        for n in range(first, last):
            run = start_run(
                create_crawl(
                    order(f"http://127.0.{n}.1:8900/", name=f"c{n}", claim={"bandwidth": 60_000})
                )
            )
            if n % 2:
                begin_shift(run.processes.get(), epoch=1, worker="w")

    start(0, 3)
    queries()  # the first page of a process reads what others share
    few = queries()
    start(3, 8)

    assert queries() == few
    assert few <= 49


def test_of_those_that_wait_only_the_few_that_it_names_are_read(operator, order):  # noqa: F811
    for n in range(3 * SOME):
        start_run(
            create_crawl(
                order(
                    f"http://127.0.0.1:{8900 + n}/",
                    name=f"Crawl {n:02}",
                    claim={"bandwidth": 60_000},
                )
            )
        )
    begin_shift(Run.objects.earliest("pk").processes.get(), epoch=1, worker="w")
    read = []
    post_init.connect(count := lambda instance, **_: read.append(instance.pk), sender=Run)
    try:
        now = read_overview()
    finally:
        post_init.disconnect(count, sender=Run)

    assert len(set(read)) == len(now.idle) + len(now.at_work) == SOME + 1
    assert [idle.crawl.name for idle in now.idle] == [f"Crawl {n:02}" for n in range(1, SOME + 1)]
    assert (now.working, now.waiting, now.resting) == (1, 3 * SOME - 1, 0)


def steps(client) -> dict[str, bool]:
    """Each step that the overview names, and whether it is done."""
    return {
        row.strong.get_text(): row.select_one(".state") is not None
        for row in soup(client.get(HOME)).select(".first-steps li")
    }


def test_the_steps_are_ticked_off_and_go_away_by_themselves(operator, order, settings):  # noqa: F811
    settings.DEMO, settings.DEMO_PORT = True, 8901
    start_run(create_crawl(order("http://127.0.0.1:8901/library/", name="Demo")))
    at_first = steps(operator)
    set_identity("crawlsite", "https://crawls.example.org/")
    run = start_run(create_crawl(order("http://127.0.0.1:8900/", name="Mine")))
    later = steps(operator)
    RunTotal.objects.filter(run=run).update(fetched=1)

    assert at_first == {"Say who you are": False, "Create a crawl": False} | {
        "Look at the result": False
    }
    assert (later["Say who you are"], later["Create a crawl"]) == (True, True)
    assert steps(operator) == {}


def test_whoever_hides_the_steps_sees_them_no_more_until_they_are_wanted(operator):
    assert steps(operator)
    operator.post(reverse("look"), {"hides_first_steps": "1", "next": HOME})
    assert steps(operator) == {}
    usual = {"theme": "auto", "density": "comfortable", "rows": "0", "refresh_seconds": "2"}
    operator.post(reverse("preferences"), usual | {"time_zone": "UTC", "first_steps": "on"})
    assert steps(operator)


def test_an_operator_is_told_who_sets_the_identity_and_led_to_no_page_that_refuses(
    operator,
    pool,  # noqa: F811
):
    of_administrator = browser("administrator")
    asked = {
        client: soup(client.get(HOME)).select(".first-steps li")[0]
        for client in (operator, of_administrator)
    }

    assert "Only administrators set them: administrator." in asked[operator].p.get_text()
    assert asked[operator].a is None
    for client in (operator, of_administrator):
        for link in soup(client.get(HOME)).select(".first-steps a"):
            assert client.get(link["href"]).status_code == 200
    assert asked[of_administrator].a["href"] == reverse("administration:identity")


def test_whoever_cannot_create_crawls_sees_no_steps(db):
    assert steps(browser("viewer")) == {}


def test_an_example_says_that_it_is_one_and_another_crawl_does_not(operator, order, settings):  # noqa: F811
    settings.DEMO, settings.DEMO_PORT = True, 8901
    example = create_crawl(order("http://127.0.0.1:8901/library/", name="Demo"))
    by = User.objects.get(username="operator")
    own = create_crawl(order("http://127.0.0.1:8901/shop/", name="Mine"), by=by)

    told = [
        "made-up site on this machine" in operator.get(address).content.decode()
        for address in (reverse("crawling:crawl", args=[crawl.pk]) for crawl in (example, own))
    ]
    rows = soup(operator.get(reverse("crawling:crawls"))).select("main tbody")

    assert told == [True, False]
    assert {row.a.get_text(): row.select_one("small.tag") is not None for row in rows} == {
        "Demo": True,
        "Mine": False,
    }


@pytest.fixture
def viewer(db, monkeypatch):
    cache.delete(overview.KEPT)
    monkeypatch.setattr(
        overview, "component_health", lambda: [ComponentHealth("Workers", True, "2")]
    )
    return browser("viewer")


@pytest.fixture
def failed(order):  # noqa: F811
    run = start_run(create_crawl(order("http://127.0.0.1:8900/", name="Library")))
    Run.objects.update(state=RunState.FAILED, finished_at=timezone.now(), reason="All failed.")
    return run


def test_whatever_fails_is_counted_and_listed_with_a_way_there(viewer, failed, pool):  # noqa: F811
    Pool.objects.update(is_safe=False)

    rows = soup(viewer.get(LIST)).select("tbody tr")

    assert [row.a["href"] for row in rows] == [
        pool.get_absolute_url(),
        reverse("crawling:crawl", args=[failed.crawl_id]),
    ]
    assert "All failed." in rows[1].get_text()
    assert viewer.get(COUNT).json() == {"count": 2, "news": 0, "pending": 0}


def test_a_part_that_does_not_answer_is_listed_too(viewer, monkeypatch):
    monkeypatch.setattr(
        overview, "component_health", lambda: [ComponentHealth("Workers", False, "none")]
    )

    [row] = soup(viewer.get(LIST)).select("tbody tr")

    assert (row.a["href"], row.a.get_text()) == (reverse("health"), "Workers")


def test_the_count_is_kept_a_moment_for_everybody(viewer, failed):
    first = viewer.get(COUNT).json()
    Run.objects.update(state=RunState.FINISHED)

    assert viewer.get(COUNT).json() == first == {"count": 1, "news": 0, "pending": 0}
    cache.delete(overview.KEPT)
    assert viewer.get(COUNT).json() == {"count": 0, "news": 0, "pending": 0}
    assert soup(viewer.get(LIST)).select_one(".empty")


def test_a_day_of_a_new_machine_begins_with_its_first_page(operator, order):  # noqa: F811
    run = start_run(create_crawl(order("http://127.0.0.1:8900/")))
    assert 4 <= len(from_first_fetch(chart_of_all(24)).points) <= 6
    minute = timezone.now().replace(second=0, microsecond=0) - timedelta(hours=3)
    RunCount.objects.create(run=run, process_number=0, minute=minute, fetched=4)

    points = from_first_fetch(chart_of_all(24)).points

    assert points[0].fetched == 4
    assert 12 <= len(points) <= 14
    assert sum(point.fetched for point in points) == 4


def test_cards_that_would_be_empty_are_not_there_and_links_say_where_they_lead(
    operator,
    order,  # noqa: F811
):
    page = soup(operator.get(HOME))
    assert not page.select("#idle, .halves, section.news")
    text = page.main.get_text(" ", strip=True)
    assert "Reserved is set aside for running crawls and background jobs." in text

    start_run(create_crawl(order("http://127.0.0.1:8900/")))
    page = soup(operator.get(HOME))

    assert page.select_one(".halves #idle")
    [link] = [one for one in page.select("main a") if one.get_text(strip=True) == "Why it is safe"]
    assert link["href"].startswith("/resources/")

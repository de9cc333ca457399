"""The list of crawls: what it shows, finds and offers, and to whom."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from crawling.models import CrawlJob, Run, RunCount, RunTotal, Schedule, Shift
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.schedules import set_schedule
from crawling.runs.shift_lifecycle import begin_shift
from crawling.runs.start import start_run
from crawling.runs.steering import pause, stop
from tests.crawling.pages import browser, soup

LIST = "crawling:crawls"
VERBS = ("start", "pause", "resume", "stop", "abort")


@pytest.fixture
def operator(db):
    return browser("operator")


@pytest.fixture
def viewer(db):
    return browser("viewer")


@pytest.fixture
def three(order):
    """A draft, one that holds what a third one waits for."""
    create_crawl(order("http://127.0.0.1:8900/", name="Atlas"))
    start_run(
        create_crawl(order("http://127.0.0.1:8901/", name="Busy", claim={"bandwidth": 60_000}))
    )
    start_run(
        create_crawl(
            order("http://127.0.0.1:8902/zebra", name="Caught", claim={"bandwidth": 60_000})
        )
    )


def names(response):
    return [cell.get_text(" ", strip=True).split()[0] for cell in soup(response).select("tbody th")]


def labels(response, name):
    """The names of the buttons in a crawl's row."""
    row = next(row for row in soup(response).select("main tbody") if name in row.th.get_text())
    return [button.get_text(strip=True) for button in row.find_all("button")]


def test_states_are_counted_and_each_count_leads_to_its_crawls(operator, three):
    page = soup(operator.get(reverse(LIST)))
    links = {link.get_text(" ", strip=True): link["href"] for link in page.select("nav.tabs a")}

    assert list(links) == ["all 3", "draft 1", "queued 1", "waiting 1"]
    assert names(operator.get(reverse(LIST) + links["waiting 1"])) == ["Caught"]
    assert names(operator.get(reverse(LIST) + links["draft 1"])) == ["Atlas"]
    assert names(operator.get(reverse(LIST) + links["queued 1"])) == ["Busy"]


def test_search_finds_names_and_seeds_whatever_their_case(operator, three):
    assert names(operator.get(reverse(LIST), {"q": "aTLas"})) == ["Atlas"]
    assert names(operator.get(reverse(LIST), {"q": "/ZEBRA"})) == ["Caught"]
    assert names(operator.get(reverse(LIST), {"q": "%"})) == []


def test_one_or_two_characters_are_looked_for_where_words_begin(operator, order):
    for name in ("News of the north", "Old news"):
        create_crawl(order("http://127.0.0.1:8900/", name=name))

    found = {
        text: set(names(operator.get(reverse(LIST), {"q": text})))
        for text in ("ne", "n", "no", "ew", "o")
    }

    assert found == {
        "ne": {"News", "Old"},
        "n": {"News", "Old"},
        "no": {"News"},
        "ew": set(),
        "o": {"News", "Old"},
    }


def test_a_row_shows_the_crawls_parameters(operator, order):
    create_crawl(
        order(
            "http://127.0.0.1:8900/",
            name="Atlas",
            scope="path",
            order="depth_first",
            max_depth=3,
            processes=2,
            delay_seconds=0.5,
        )
    )

    row = soup(operator.get(reverse(LIST))).select_one("main tbody").get_text(" ", strip=True)

    assert "path scope, depth first, at least 0.5 s delay, 3 deep, 2 workers" in row


def test_a_search_within_a_state_keeps_both_and_the_sorting(operator, three):
    page = soup(operator.get(reverse(LIST), {"state": "draft", "q": "a", "sort": "name"}))

    hidden = {
        field["name"]: field["value"]
        for field in page.select("form[role=search] input[type=hidden], [type=search]")
    }
    assert hidden == {"state": "draft", "sort": "name", "q": "a"}
    assert "q=a" in page.select_one("nav.tabs a[aria-current]")["href"]


def test_crawls_are_found_by_when_they_began_and_counted_so(operator, order):
    for hour, name in enumerate(("Early", "Noon", "Late"), 11):
        run = start_run(create_crawl(order("http://127.0.0.1:8900/", name=name)))
        Run.objects.filter(pk=run.pk).update(started_at=f"2026-01-01T{hour}:00Z")
    create_crawl(order("http://127.0.0.1:8900/", name="Draft"))

    page = operator.get(
        reverse(LIST), {"since": "2026-01-01T12:00", "until": "2026-01-01T14:00+01:00"}
    )
    late = operator.get("/api/v1/crawls?since=2026-01-01T12:30:00Z").json()["items"]

    assert (names(page), [crawl["name"] for crawl in late]) == (["Noon"], ["Late"])
    assert soup(page).select_one("nav.tabs a").get_text(" ", strip=True) == "all 1"
    assert names(operator.get(reverse(LIST), {"since": "2027-01-01"})) == []


@pytest.mark.parametrize(
    ("since", "status"),
    [
        ("5034-10-24T22:39:30-16:01", 200),
        ("2026-01-01T00:00:00+23:59", 200),
        ("0001-01-01T00:00:00+01:00", 422),
        ("9999-12-31T23:59:59-01:00", 422),
    ],
)
def test_any_offset_from_utc_is_taken_and_a_moment_of_no_year_is_refused(operator, since, status):
    answer = operator.get("/api/v1/crawls", {"since": since})

    assert answer.status_code == status
    assert status == 200 or "years 1 and 9999" in answer.json()["errors"]["since"]


def test_columns_sort_both_ways_and_say_so(operator, three):
    assert names(operator.get(reverse(LIST))) == ["Caught", "Busy", "Atlas"]
    rising = operator.get(reverse(LIST), {"sort": "name"})
    assert names(rising) == ["Atlas", "Busy", "Caught"]
    head = soup(rising).select_one("th[aria-sort]")
    assert (head["aria-sort"], head.a["href"]) == ("ascending", "?sort=-name")
    assert names(operator.get(reverse(LIST) + head.a["href"])) == ["Caught", "Busy", "Atlas"]


def test_sorted_by_a_count_the_largest_comes_first(operator, make_site, crawl_to_the_end, order):
    site = make_site({"/": '<a href="/a">a</a>', "/a": "x", "/b": "y"})
    crawl_to_the_end(f"{site.url}/", name="Two")
    crawl_to_the_end(f"{site.url}/b", name="One")
    create_crawl(order("http://127.0.0.1:8900/", name="None"))

    for key in ("fetched", "known", "size"):
        assert names(operator.get(reverse(LIST), {"sort": f"-{key}"})) == ["Two", "One", "None"]
        assert names(operator.get(reverse(LIST), {"sort": key})) == ["None", "One", "Two"]
    assert names(operator.get(reverse(LIST), {"sort": "-started"})) == ["One", "Two", "None"]


def test_sorted_by_what_waits_or_was_left_out_the_largest_comes_first(operator, order):
    for name, seeds, excluded in (("Many", 3, 1), ("Few", 1, 7)):
        run = start_run(
            create_crawl(order(*(f"http://127.0.0.1:8900/{n}" for n in range(seeds)), name=name))
        )
        RunTotal.objects.filter(run=run).update(excluded=excluded)

    assert names(operator.get(reverse(LIST), {"sort": "-queued"})) == ["Many", "Few"]
    assert names(operator.get(reverse(LIST), {"sort": "queued"})) == ["Few", "Many"]
    assert names(operator.get(reverse(LIST), {"sort": "-excluded"})) == ["Few", "Many"]


def test_a_run_at_work_shows_how_fast_it_is_now_and_afterwards_how_fast_it_was(operator, order):
    run = start_run(create_crawl(order("http://127.0.0.1:8900/", name="Busy")))
    now = timezone.now()
    begin_shift(run.processes.get(), epoch=1, worker="w")
    Run.objects.filter(pk=run.pk).update(started_at=now - timedelta(hours=1))
    RunCount.objects.filter(run=run).update(minute=now - timedelta(minutes=30), fetched=7200)
    RunTotal.objects.filter(run=run).update(fetched=7200)

    assert (
        soup(operator.get(reverse(LIST))).find("td", title="over the last minute or two").get_text()
        == "0.0"
    )

    for state in ("waiting", "paused"):
        Shift.objects.update(ended_at=now)
        Run.objects.filter(pk=run.pk).update(state="running" if state == "waiting" else state)
        assert (
            soup(operator.get(reverse(LIST))).find("td", title="on average over its run").get_text()
            == "–"
        ), state

    Run.objects.filter(pk=run.pk).update(state="stopped", finished_at=now)
    assert (
        soup(operator.get(reverse(LIST))).find("td", title="on average over its run").get_text()
        == "avg 2.0"
    )


def test_failures_stand_in_the_row(operator, make_site, crawl_to_the_end):
    crawl_to_the_end(f"{make_site({'/': '<a href=/gone>x</a>'}).url}/")

    assert soup(operator.get(reverse(LIST))).select_one("td.bad").get_text(strip=True) == "1"


def test_pages_keep_the_filter(operator, order):
    for number in range(26):
        create_crawl(order("http://127.0.0.1:8900/", name=f"Draft{number}"))

    following = soup(operator.get(reverse(LIST), {"state": "draft"})).select_one("a[rel=next]")[
        "href"
    ]
    assert "state=draft" in following
    assert names(operator.get(reverse(LIST) + following)) == ["Draft0"]


@pytest.mark.parametrize(
    "query",
    [
        {"page": "x"},
        {"page": "-1"},
        {"sort": "no"},
        {"state": "no"},
        {"q": "\0"},
        {"q": "x" * 5000},
    ],
)
def test_nonsense_in_the_address_does_no_harm(operator, three, query):
    assert operator.get(reverse(LIST), query).status_code == 200


def test_a_row_tells_when_its_schedule_starts_the_crawl_next(operator, three):
    atlas, busy, _ = CrawlJob.objects.order_by("name")
    set_schedule(atlas, {"every_minutes": 3 * 1440})
    set_schedule(busy, {"every_minutes": 60, "is_on": False})

    shown = soup(operator.get(reverse(LIST))).select(".all-crawls .next")

    assert [line.get_text() for line in shown] == ["Next start in 3 days"]
    exact = Schedule.objects.get(crawl=atlas).next_at.isoformat()
    assert shown[0].time["datetime"][:19] == exact[:19]


@pytest.mark.parametrize(("state", "value"), [("finished", "15"), ("stopped", "7")])
def test_the_bar_of_a_crawl_is_full_once_it_has_fetched_all(operator, order, state, value):
    crawl = create_crawl(order("http://127.0.0.1:8900/", name="Small", max_pages=15))
    run = start_run(crawl)
    Run.objects.filter(pk=run.pk).update(state=state, finished_at=timezone.now())
    RunTotal.objects.update_or_create(
        run=run, defaults={"fetched": 7, "succeeded": 7, "discovered": 7}
    )

    bars = [
        soup(operator.get(address)).select_one("progress[aria-label^=Pages]")
        for address in (reverse(LIST), f"{reverse('crawling:crawl', args=[crawl.pk])}?overview")
    ]

    assert [(bar["value"], bar["max"]) for bar in bars] == [(value, "15")] * 2


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"state": "draft"}, "No crawl is draft."),
        ({"tag": "June"}, "No crawl has the tag “June”."),
        ({"owner": "ann", "state": "failed"}, "No crawl is failed and is of ann."),
        ({"after": "1"}, "No crawl follows here."),
    ],
)
def test_an_empty_list_says_in_one_sentence_what_was_asked_for(operator, order, query, words):
    start_run(create_crawl(order("http://127.0.0.1:8900/")))
    query = {
        name: str(CrawlJob.objects.get().pk) if name == "after" else value
        for name, value in query.items()
    }

    told = soup(operator.get(reverse(LIST), query)).select_one(".empty").get_text()

    assert " ".join(told.split()) == f"{words} Show all crawls"


def test_nothing_found_says_so_and_leads_out(operator, three):
    page = soup(operator.get(reverse(LIST), {"q": "<b>", "state": "draft"}))

    assert "No crawl is draft and has “<b>” in its name or start URLs" in page.select_one(
        ".empty"
    ).get_text(" ", strip=True)
    assert page.select_one(".empty a")["href"] == reverse(LIST)


def test_an_empty_list_offers_the_first_crawl_to_who_may_make_it(operator, viewer):
    assert soup(operator.get(reverse(LIST))).select_one(
        f".empty a[href='{reverse('crawling:new')}']"
    )
    page = soup(viewer.get(reverse(LIST)))
    assert not page.select(f"a[href='{reverse('crawling:new')}']")
    assert "An operator can make one" in page.get_text()


def test_rows_offer_only_what_is_possible_now(operator, order):
    for name in ("Draft", "Queued", "Paused", "Stopped"):
        create_crawl(order("http://127.0.0.1:8900/", name=name))
    for name in ("Queued", "Paused", "Stopped"):
        start_run(CrawlJob.objects.get(name=name))
    pause(CrawlJob.objects.get(name="Paused"))
    stop(CrawlJob.objects.get(name="Stopped"))

    page = operator.get(reverse(LIST))

    assert labels(page, "Draft") == ["Start", "Delete"]
    assert labels(page, "Queued") == ["Pause", "Stop"]
    assert labels(page, "Paused") == ["Resume", "Stop"]
    assert labels(page, "Stopped") == ["Resume", "Run again", "Delete"]


def test_buttons_steer_and_lead_back_to_where_they_stood(operator, order):
    crawl = create_crawl(order("http://127.0.0.1:8900/", name="Atlas"))
    here = f"{reverse(LIST)}?state=draft"

    states = []
    for verb in ("start", "pause", "resume", "stop", "start", "abort"):
        answer = operator.post(
            reverse("crawling:steer", args=[crawl.pk, verb]),
            {"next": here, "confirmed": "yes"},
            follow=True,
        )
        assert answer.redirect_chain == [(here, 302)]
        states.append(crawl.runs.first().state)

    assert states == ["queued", "paused", "queued", "stopped", "queued", "stopped"]


def test_what_cannot_be_done_is_told_in_the_page(operator, order):
    crawl = create_crawl(order("http://127.0.0.1:8900/", name="Atlas"))

    page = soup(operator.post(reverse("crawling:steer", args=[crawl.pk, "pause"]), follow=True))

    assert page.find(role="alert").get_text() == "Atlas has never been started."


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.example/", "//evil.example", "javascript:alert(1)"]
)
def test_a_button_never_leads_to_another_site(operator, order, elsewhere):
    crawl = create_crawl(order("http://127.0.0.1:8900/"))

    assert operator.post(
        reverse("crawling:steer", args=[crawl.pk, "start"]), {"next": elsewhere}
    ).url == reverse(LIST)


def test_a_viewer_sees_every_crawl_and_no_button(viewer, three):
    page = viewer.get(reverse(LIST))

    assert names(page) == ["Caught", "Busy", "Atlas"]
    assert not soup(page).select("main button[formaction], .actions")
    for verb in VERBS:
        assert (
            viewer.post(
                reverse("crawling:steer", args=[CrawlJob.objects.first().pk, verb])
            ).status_code
            == 403
        )


def test_steering_wants_a_post_and_a_log_in(operator, client, order):
    address = reverse(
        "crawling:steer", args=[create_crawl(order("http://127.0.0.1:8900/")).pk, "start"]
    )

    assert operator.get(address).status_code == 405
    assert client.post(address).url.startswith(reverse("login"))
    assert operator.post(reverse("crawling:steer", args=[0, "start"])).status_code == 404


def test_a_refresh_gets_the_changing_part_alone_and_nothing_while_nothing_changes(operator, three):
    first = operator.get(reverse(LIST), headers={"HX-Request": "true"})

    assert b"<html" not in first.content
    assert names(first) == ["Caught", "Busy", "Atlas"]
    assert "HX-Request" in first["Vary"]
    again = operator.get(
        reverse(LIST), headers={"HX-Request": "true", "If-None-Match": first["ETag"]}
    )
    assert again.status_code == 304


def test_the_list_takes_the_same_queries_however_many_crawls_there_are(operator, order):
    def queries():
        with CaptureQueriesContext(connection) as captured:
            operator.get(reverse(LIST))
        return len(captured)

    for number in range(2):
        start_run(
            create_crawl(
                order(
                    f"http://127.0.1.{number + 1}:8900/",
                    name=f"first {number}",
                    claim={"bandwidth": 60_000},
                )
            )
        )
    few = queries()
    for number in range(10):
        start_run(create_crawl(order(f"http://127.0.0.{number + 1}:8900/", name=f"crawl {number}")))

    assert queries() == few
    assert few <= 32


def test_a_page_that_is_not_there_says_where_to_go(operator):
    answer = operator.get("/crawls/nowhere")

    assert answer.status_code == 404
    assert soup(answer).select_one(f"main a[href='{reverse(LIST)}']")


def test_the_list_ends_with_totals_of_all_that_the_filter_finds(operator, order):
    for number, failed in ((1, 2), (2, 3), (3, 4)):
        job = create_crawl(order("http://127.0.0.1:8900/", name=f"crawl {number}"))
        run = Run.objects.create(crawl=job, number=1, state="failed", is_latest=True)
        RunTotal.objects.filter(run=run).delete()
        RunTotal.objects.create(run=run, fetched=1000 * number, failed=failed, bytes=2048)

    def totals(**query):
        page = soup(operator.get(reverse(LIST), query))
        return [cell.get_text(strip=True) for cell in page.select("tfoot tr > *")]

    assert totals()[:4] == ["Total of 3 crawls", "6,000", "0", "9"]
    assert totals()[4].startswith("6.0")
    assert totals(q="crawl")[0] == "Total of 3 crawls"
    assert totals(q="crawl 1") == []
    assert totals(state="finished") == []


def test_hosts_of_a_crawl_that_waits_or_is_paused_are_not_due(operator, three):
    """Whatever the clock of the host says: nothing is fetched before the crawl goes on."""
    caught, busy = CrawlJob.objects.get(name="Caught"), CrawlJob.objects.get(name="Busy")
    pause(busy)

    for crawl in (caught, busy):
        page = soup(operator.get(reverse("crawling:crawl", args=[crawl.pk])))
        hosts = page.select_one(".busiest")
        words = " ".join(hosts.get_text(" ", strip=True).split())
        assert "1 host: 1 with URLs to fetch" in words, crawl
        assert "when the crawl goes on" in words, crawl

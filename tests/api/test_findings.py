"""The findings of a run, through the endpoints of pages, hosts, log, errors, stats, runs and one
URL.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from crawling.installation.run_log import write
from crawling.models import Level, Page, Run, RunCount
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from tests.api.conftest import SEED


@pytest.fixture(scope="module")
def site(shared):
    links = "".join(f'<a href="{path}">x</a>' for path in ("/a", "/b", "/lost", "/private"))
    return shared.serve(
        {
            "/robots.txt": "User-agent: *\nDisallow: /private",
            "/": f"<title>Home</title>{links}",
            "/a": "same",
            "/b": "same",
        }
    )


@pytest.fixture(scope="module")
def crawled(site, crawl_once):
    return crawl_once(f"{site.url}/")


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


@pytest.fixture
def later(site, crawl_to_the_end, work_off):
    """The second of two runs."""
    return work_off(start_run(crawl_to_the_end(f"{site.url}/").crawl))


def test_pages_carry_what_is_known_of_each_fetch(operator, site, run):
    pages = operator.get(f"crawls/{run.crawl_id}/pages")["items"]

    home, *others = pages
    assert [page["url"] for page in pages] == [
        f"{site.url}{path}" for path in ("/", "/a", "/b", "/lost")
    ]
    assert (home["status"], home["title"], home["depth"], home["charset"], home["address"]) == (
        200,
        "Home",
        0,
        "utf-8",
        site.address,
    )
    assert others[0]["fingerprint"] == others[1]["fingerprint"] != home["fingerprint"]
    assert len(home["fingerprint"]) == 16


def test_pages_are_found_by_status_and_url(operator, run):
    def found(query):
        return [
            page["url"].rpartition("/")[2]
            for page in operator.get(f"crawls/{run.crawl_id}/pages?{query}")["items"]
        ]

    assert found("status=404") == ["lost"]
    assert found("status=4xx") == ["lost"]
    assert found("status=2xx") == ["", "a", "b"]
    assert found("q=/a") == ["a"]
    assert found("unread=true") == []
    Page.objects.filter(url__url__endswith="/a").update(unread="size")
    assert found("unread=true") == ["a"]
    assert operator("GET", f"crawls/{run.crawl_id}/pages?status=lost")[0] == 422


def test_pages_come_each_once_whatever_the_size_of_the_page(operator, run):
    got, cursor = [], 0
    while cursor is not None:
        page = operator.get(f"crawls/{run.crawl_id}/pages?limit=3&cursor={cursor}")
        got += page["items"]
        cursor = page["next"]

    assert got == operator.get(f"crawls/{run.crawl_id}/pages")["items"]


def test_hosts_tell_what_is_queued_and_who_has_them(operator, order):
    crawl = create_crawl(order(SEED, "http://127.0.0.2:8900/a", "http://127.0.0.2:8900/b"))
    start_run(crawl)

    hosts = operator.get(f"crawls/{crawl.pk}/hosts")["items"]

    assert [(host["name"], host["queued"], host["leased_by"]) for host in hosts] == [
        ("127.0.0.1:8900", 1, ""),
        ("127.0.0.2:8900", 2, ""),
    ]


def test_hosts_go_on_after_the_cursor_though_its_row_is_gone(operator, order):
    crawl = create_crawl(order(*(f"http://127.0.0.{n}:8900/" for n in (1, 2, 3))))
    run = start_run(crawl)
    first = operator.get(f"crawls/{crawl.pk}/hosts?limit=2")
    run.urls.filter(queue=first["next"]).delete()
    run.queues.filter(pk=first["next"]).delete()

    rest = operator.get(f"crawls/{crawl.pk}/hosts?cursor={first['next']}")

    assert [host["name"] for host in first["items"]] == ["127.0.0.1:8900", "127.0.0.2:8900"]
    assert [host["name"] for host in rest["items"]] == ["127.0.0.3:8900"]


def test_the_log_is_newest_first_and_found_by_level_and_text(operator, run):
    write(run.pk, "slow", level=Level.WARNING, url="http://a.test/slow")
    write(run.pk, "broken", level=Level.ERROR)

    def found(query):
        return [
            line["message"] for line in operator.get(f"crawls/{run.crawl_id}/log?{query}")["items"]
        ]

    assert found("limit=2") == ["broken", "slow"]
    assert found("level=warning") == ["broken", "slow", "404 Not Found"]
    assert found("level=error") == ["broken"]
    assert found("q=A.TEST") == ["slow"]
    first = operator.get(f"crawls/{run.crawl_id}/log?limit=1")
    write(run.pk, "late")
    assert found(f"limit=1&cursor={first['next']}") == ["slow"]


def test_errors_are_grouped_by_cause_with_one_url_of_each(operator, site, run):
    lost, private = operator.get(f"crawls/{run.crawl_id}/failure-causes")["items"]

    assert (lost["state"], lost["status"], lost["meaning"], lost["urls"], lost["example"]) == (
        "failed",
        404,
        "404 Not Found",
        1,
        f"{site.url}/lost",
    )
    assert (private["state"], private["status"]) == ("excluded", -8)
    assert "robots.txt forbids" in private["meaning"]


def test_stats_are_the_counts_by_minute_over_all_processes(operator, run):
    RunCount.objects.all().delete()
    minute = timezone.now().replace(second=0, microsecond=0)
    for number, process in [(0, 0), (0, 1), (1, 0)]:
        RunCount.objects.create(
            run=run, process_number=process, minute=minute + timedelta(minutes=number), fetched=5
        )

    first = operator.get(f"crawls/{run.crawl_id}/minutes?limit=1")
    second = operator.get(f"crawls/{run.crawl_id}/minutes?limit=1&cursor={first['next']}")

    assert [item["fetched"] for page in (first, second) for item in page["items"]] == [10, 5]
    assert second["next"] is None


def test_a_run_is_chosen_by_its_number(operator, later):
    run = later
    first, second = (
        operator.get(f"crawls/{run.crawl_id}/pages?run={number}")["items"] for number in (1, 2)
    )

    assert len(first) == len(second) == 4
    assert operator.get(f"crawls/{run.crawl_id}/pages")["items"] == second
    assert operator("GET", f"crawls/{run.crawl_id}/pages?run=3") == (
        404,
        {"detail": f"Crawl {run.crawl_id} has no run 3."},
    )
    runs = operator.get(f"crawls/{run.crawl_id}/runs?limit=1")
    assert [(row["number"], row["state"], row["counts"]["fetched"]) for row in runs["items"]] == [
        (2, "finished", 4)
    ]
    assert [
        row["number"]
        for row in operator.get(f"crawls/{run.crawl_id}/runs?cursor={runs['next']}")["items"]
    ] == [1]


def test_a_url_is_known_by_every_run_that_met_it(operator, site, later):
    history = operator.get(f"url-history?url={site.url.upper()}/a%23top")

    assert history["url"] == f"{site.url}/a"
    assert [
        (met["run"], met["state"], met["status"], met["attempts"]) for met in history["items"]
    ] == [
        (2, "succeeded", 200, 1),
        (1, "succeeded", 200, 1),
    ]
    first = operator.get(f"url-history?url={site.url}/a&limit=1")
    assert [
        met["run"]
        for met in operator.get(f"url-history?url={site.url}/a&cursor={first['next']}")["items"]
    ] == [1]
    (kept_out, _) = operator.get(f"url-history?url={site.url}/private")["items"]
    assert (kept_out["state"], kept_out["fetched_at"]) == ("excluded", None)
    assert operator.get("url-history?url=http://never.test/")["items"] == []
    assert operator("GET", "url-history?url=nonsense")[0] == 422


def test_a_draft_has_found_nothing_and_says_so(operator, order):
    crawl = create_crawl(order(SEED))

    assert operator("GET", f"crawls/{crawl.pk}/pages") == (
        404,
        {"detail": f"Crawl {crawl.pk} has never been started."},
    )


def test_programs_test_scopes_ask_why_and_read_who_edited(operator, administrator, order):
    crawl = create_crawl(order(SEED, exclude=[r"\.zip$"]))
    operator("PATCH", f"crawls/{crawl.pk}", {"exclude": [r"\.gz$"], "host_max_pages": 5})

    def decided():
        rows = operator.get(f"url-history?url={SEED}x.gz")["crawls"]
        return next(row for row in rows if row["crawl"] == crawl.pk)

    status, tested = operator(
        "POST",
        f"crawls/{crawl.pk}/test-scope",
        {"urls": [f"{SEED}x.gz", f"{SEED}x.zip", "nonsense"]},
    )
    assert status == 200
    rules = [(row["admits"], row["rule"], row["number"]) for row in tested["items"]]
    assert rules == [(False, "exclude", 5), (True, "scope", 6), (False, "", 0)]
    (edit,) = operator.get(f"crawls/{crawl.pk}/revisions")["items"]
    assert (edit["number"], edit["by"], edit["changes"]["host_max_pages"]) == (
        2,
        "operator",
        [None, 5],
    )
    why = decided()
    assert (why["met"], why["rule"], why["admits"], why["revision"]) == (
        "not started",
        "exclude",
        False,
        2,
    )

    status, entry = administrator(
        "POST", "blocklist", {"kind": "host", "text": "127.0.0.1:8900", "reason": "its owner asked"}
    )
    assert (status, entry["by"], operator("DELETE", f"blocklist/{entry['id']}")[0]) == (
        201,
        "administrator",
        403,
    )
    assert decided()["rule"] == "blocklist"
    assert (
        administrator(
            "POST", "blocklist", {"kind": "host", "text": "127.0.0.1:8900", "reason": "again"}
        )[0]
        == 422
    )
    assert (
        administrator("DELETE", f"blocklist/{entry['id']}")[0],
        operator.get("blocklist")["items"],
    ) == (204, [])


def test_a_page_of_a_run_that_is_being_removed_is_nowhere_to_be_had(operator, run):
    page, crawl, viewer = Page.objects.filter(run=run).first(), run.crawl_id, Client()
    viewer.force_login(User.objects.get(username="operator"))
    pages = [f"/crawls/{crawl}/pages/{page.pk}/{part}" for part in ("", "document/", "record/")]
    warc, texts = f"pages/{page.pk}/warc", f"changes/{page.pk}/{page.pk}"
    assert [viewer.get(address).status_code for address in pages] == [200, 200, 200]
    assert operator("GET", f"crawls/{crawl}/{texts}")[0] == 202

    Run.objects.filter(pk=run.pk).update(removal_asked_at=timezone.now())

    assert [viewer.get(address).status_code for address in pages] == [404, 404, 404]
    assert [operator("GET", f"crawls/{crawl}/{door}")[0] for door in (warc, texts)] == [404, 404]


def test_urls_that_wait_are_sent_as_a_file_like_on_their_page(operator, order):
    run = start_run(create_crawl(order(SEED)))

    sent = operator.client.get(
        f"/api/v1/crawls/{run.crawl_id}/frontier/export", headers=operator.headers
    )

    name = f"frontier-{run.crawl_id}-run-1.txt"
    assert sent["Content-Disposition"] == f'attachment; filename="{name}"'
    assert b"".join(sent).decode() == f"{SEED}\n"

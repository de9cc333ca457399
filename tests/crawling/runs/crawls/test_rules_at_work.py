"""Filters, the blocklist, edits, limits and exceptions from robots.txt in crawls that run; and
what is said of each URL afterwards.
"""

from __future__ import annotations

import gzip

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from crawling.base.errors import WrongState
from crawling.dashboard.inspect.url_decision import decisions_about
from crawling.datasets.lag import Derived, lag_of
from crawling.frontier.admit import refusals as verdicts
from crawling.frontier.admit.crawl_rules import KeptBlocklist, current_blocklist
from crawling.jobs.running import run_job
from crawling.models import (
    ArchiveFile,
    BlocklistEntry,
    ExtractedRow,
    Inquiry,
    RobotsFile,
    Url,
    Verdict,
    VerdictCount,
)
from crawling.previews import inquiries
from crawling.runs.crawls.blocklist import add_entry, remove_entry
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.rejudgement import rejudge_live_runs
from crawling.runs.crawls.revisions import edit_crawl
from crawling.runs.crawls.robots_exceptions import end_exception, except_host
from crawling.runs.start import start_run
from crawling.web.addresses import read_address
from crawling.web.statuses import FetchStatus
from crawlsite.middleware.retry_later import AGAIN_SECONDS
from tests.crawling.acting import acting
from tests.crawling.frontiers import Frontier, outcome
from tests.crawling.pages import browser


def links(*paths):
    return "".join(f'<a href="{path}">x</a>' for path in paths)


def fate(run):
    """State and status by path."""
    return {"/" + row.url.split("/", 3)[3]: (row.state, row.status) for row in run.urls.all()}


def told(run, url):
    """The facts of the run's crawl about a URL, as one text by subject, once all are known."""
    _, (answer,) = decisions_about(url, crawl=run.crawl)
    if answer.is_pending:
        run_job(Inquiry.objects.latest("pk").pk)
        _, (answer,) = decisions_about(url, crawl=run.crawl)
    facts = {}
    for fact in answer.facts:
        facts[fact.about] = f"{facts.get(fact.about, '')} {fact.sentence} {fact.url}".strip()
    return answer.met, facts


def test_filters_keep_urls_out_before_the_frontier_and_documents_after_their_heads(
    make_site, crawl_to_the_end
):
    site = make_site(
        {
            "/": links(
                "/copy", "/a", "/x.zip", "/film", "/big", "/long", "/moved", "http://b.test/"
            ),
            "/a": "<p>same",
            "/copy": "<p>same",
            "/film": (200, {"Content-Type": "video/mp4"}, b"x" * 100),
            "/big": "y" * 3000,
            "/long": (
                200,
                {"Content-Type": "text/html", "Transfer-Encoding": "identity"},
                b"z" * 3000,
            ),
            "/moved": (301, {"Location": "/a"}, ""),
        }
    )

    run = crawl_to_the_end(
        f"{site.url}/", exclude=[r"\.zip$"], types=["text/html"], max_document_bytes=2000
    )

    assert fate(run) == {
        "/": ("s", 200),
        "/a": ("s", 200),
        "/copy": ("s", 200),
        "/moved": ("s", 301),
        "/film": ("x", FetchStatus.WRONG_TYPE),
        "/big": ("x", FetchStatus.TOO_LARGE),
        "/long": ("x", FetchStatus.TOO_LARGE),
    }
    assert "/x.zip" not in site.paths
    met, facts = told(run, f"{site.url}/x.zip")
    assert met == "excluded by a rule"
    assert "Excluded by rule 5 (exclude), revision 1: expression 1" in facts["rule"]
    assert (
        "excluded by rule 5 (exclude), revision 1: expression 1, \\.zip$. First found on: "
        f"{site.url}/" in facts["verdict"]
    )
    assert "is no host of a start URL" in told(run, "http://b.test/")[1]["rule"]
    assert "Rule 8, type" in told(run, f"{site.url}/film")[1]["frontier"]
    assert "allows it" in told(run, f"{site.url}/a")[1]["robots"]
    copies = [told(run, f"{site.url}{path}")[1].get("duplicate") for path in ("/a", "/copy")]
    assert sorted(copy is None for copy in copies) == [False, True]
    assert told(run, f"{site.url}/moved")[1]["redirect"].endswith(f"{site.url}/a")
    assert told(run, f"{site.url}/unknown")[0] == "not found"


def test_a_blocklist_entry_holds_for_urls_that_wait_and_lets_them_go_when_it_is_removed(
    make_site, order, work_off
):
    site = make_site({"/": links("/no/1", "/yes")})
    run = start_run(create_crawl(order(f"{site.url}/", f"{site.url}/no/")))
    entry = add_entry("prefix", f"{site.url}/no/", "its owner asked us to")

    work_off(run, until=lambda run: run.urls.filter(state="q").count() == 0)
    assert sorted(site.paths) == ["/", "/yes"]
    assert fate(run)["/no/"] == ("x", FetchStatus.BLOCKLISTED)
    assert "entry" in told(run, f"{site.url}/no/1")[1]["rule"]
    assert "its owner asked us to" in told(run, f"{site.url}/no/1")[1]["rule"]

    assert run.state == "running", "what was edited is seen to before it ends"
    remove_entry(entry.pk)
    rejudge_live_runs()
    assert fate(run)["/no/1"] == ("q", None)
    work_off(run)
    assert {"/no/", "/no/1"} <= set(site.paths)
    assert run.reason == "Every URL in scope is done."


@pytest.fixture
def frontier(db):
    """A run of a.test, whose start page has been met."""
    frontier = Frontier()
    frontier.run.crawl.seeds = ["http://a.test/"]
    frontier.run.crawl.save()
    frontier.sow("a.test/")
    rejudge_live_runs()
    return frontier


def test_an_edit_excludes_what_waits_and_takes_back_what_a_rule_that_went_had_excluded(frontier):
    frontier.sow("a.test/1.pdf", "a.test/2.pdf", "a.test/3", depth=1)
    crawl = frontier.run.crawl

    edited = edit_crawl(crawl, {"exclude": [r"\.pdf$"]})
    rejudge_live_runs()
    assert (edited.revision, frontier.states()) == (2, {"q": 2, "x": 2})
    assert (
        Url.objects.get(url="http://a.test/1.pdf").error
        == r"Rule 5, exclude: expression 1, \.pdf$."
    )
    frontier.check()

    edit_crawl(crawl, {"exclude": ["/1"], "delay_seconds": 1})
    rejudge_live_runs()
    assert Url.objects.get(url="http://a.test/2.pdf").state == "q"
    frontier.check()
    assert [(row.number, row.changes["exclude"]) for row in crawl.revisions.all()] == [
        (3, [[r"\.pdf$"], ["/1"]]),
        (2, [[], [r"\.pdf$"]]),
    ]
    with pytest.raises(WrongState, match="revision 3 holds"):
        edit_crawl(crawl, {"max_pages": 5}, revision=2)


def test_the_blocklist_is_read_once_for_all_batches_until_it_is_edited(frontier):
    frontier.sow("a.test/1", "a.test/2", depth=1)
    blocklist = KeptBlocklist()

    def readings():
        with CaptureQueriesContext(connection) as queries:
            rejudge_live_runs(blocklist)
        return sum('"crawling_blocklistentry"."reason"' in one["sql"] for one in queries)

    add_entry("prefix", "http://a.test/1", "its owner asked us to")
    assert readings() == 1, "once for the URLs and the verdicts"
    edit_crawl(frontier.run.crawl, {"exclude": ["/never"]})
    assert readings() == 0
    assert frontier.states() == {"q": 2, "x": 1}

    add_entry("prefix", "http://a.test/2", "its owner asked us to")
    assert readings() == 1
    assert frontier.states() == {"q": 1, "x": 2}
    blocklist.forget()
    edit_crawl(frontier.run.crawl, {"exclude": []})
    assert readings() == 1


def test_an_edit_lets_in_what_was_kept_out_when_it_was_met(frontier):
    (claimed,) = frontier.claim()
    kept_out = verdicts.Refusal(
        "http://b.test/x", verdicts.Rule.SCOPE, "b.test is no host of a start URL", 1, 0, claimed.id
    )
    frontier.record(outcome(claimed, refusals=[kept_out]))
    assert frontier.urls() == ["a.test/"]

    edit_crawl(frontier.run.crawl, {"off_site_hops": 1})
    rejudge_live_runs()

    assert frontier.urls() == ["a.test/", "b.test/x"]
    assert Url.objects.get(url="http://b.test/x").hops == 1
    assert not Verdict.objects.exists()
    frontier.check()


def test_verdicts_beyond_the_most_are_counted_only(frontier, monkeypatch):
    monkeypatch.setattr(verdicts, "MOST_ROWS", 2)
    (claimed,) = frontier.claim()
    refusals = [
        verdicts.Refusal(f"http://b.test/{n}", verdicts.Rule.SCOPE, "out", 1, 0, claimed.id)
        for n in (1, 2, 3, 2)
    ]

    frontier.record(outcome(claimed, refusals=refusals))

    assert Verdict.objects.count() == 2
    assert VerdictCount.objects.values_list("kept", "more").get() == (2, 1)


def test_at_a_soft_limit_no_new_url_is_let_in_and_what_is_known_is_finished(
    make_site, crawl_to_the_end
):
    site = make_site(
        {
            "/": links(*(f"/{n}" for n in range(4))),
            **{f"/{n}": links(f"/{n}/more") for n in range(4)},
        }
    )

    run = crawl_to_the_end(f"{site.url}/", soft_pages=1)

    assert sorted(site.paths) == ["/", "/0", "/1", "/2", "/3"]
    assert run.reason.startswith(
        "The soft limit of 1 pages is reached: no URL found after that was accepted"
    )
    assert "the soft limit of 1 pages is reached" in told(run, f"{site.url}/0/more")[1]["verdict"]


def test_a_host_gets_no_more_than_its_limit_and_the_run_ends_with_its_sentence(
    make_site, crawl_to_the_end
):
    site = make_site({"/": links(*(f"/{n}" for n in range(9))), **{f"/{n}": "x" for n in range(9)}})

    run = crawl_to_the_end(f"{site.url}/", host_max_pages=4, batch_size=3, delay_seconds=0.1)

    assert len(site.paths) == 4
    assert (
        sorted(status for _, status in fate(run).values())
        == [FetchStatus.HOST_BUDGET] * 6 + [200] * 4
    )
    assert (
        run.reason == "Every URL in scope is done, but for those on 1 host whose limit was reached."
    )
    assert "limits on each host: host_max_pages 4" in told(run, f"{site.url}/8")[1]["budget"]


def test_an_exception_from_robots_holds_in_a_run_at_work(make_site, order, work_off, monkeypatch):
    monkeypatch.setattr("crawling.fetching.shift.work.LOOK_SECONDS", 0)
    paths = [f"/{n}" for n in range(12)]
    site = make_site(
        {
            "/robots.txt": "User-agent: *\nDisallow: /private",
            "/": links(*paths, "/private/x"),
            **dict.fromkeys(paths, "x"),
        }
    )
    site.pages["/private/x"] = "secret"
    crawl = create_crawl(order(f"{site.url}/", batch_size=1, delay_seconds=0.01))
    host = f"{site.address}:{site.port}"
    site.pages["/3"] = acting(lambda: except_host(crawl, host, "agreed with its owner", 1))

    run = work_off(start_run(crawl))

    assert fate(run)["/private/x"] == ("s", 200)
    assert run.processes.get().shifts.filter(ending__contains="excepted from robots.txt").exists()
    assert any(
        b"agreed with its owner" in gzip.decompress(file.path.read_bytes())
        for file in ArchiveFile.objects.filter(run=run)
    )


def test_a_run_at_work_extracts_by_rules_that_are_edited(make_site, order, work_off, monkeypatch):
    monkeypatch.setattr("crawling.fetching.shift.work.LOOK_SECONDS", 0)
    paths = [f"/{n}" for n in range(12)]
    site = make_site({"/": links(*paths), **dict.fromkeys(paths, "<b>bold</b><i>italic</i>")})
    asked = order(f"{site.url}/", batch_size=1, delay_seconds=0.01, extract={"old": "b"})
    crawl = create_crawl(asked)
    site.pages["/3"] = acting(lambda: edit_crawl(crawl, {"extract": {"new": "i"}}))

    run = work_off(start_run(crawl))

    found = dict(ExtractedRow.objects.filter(run=run).values_list("url__url", "name"))
    assert (found[f"{site.url}/0"], found[f"{site.url}/11"]) == ("old", "new")
    assert not lag_of(run, Derived.FIELDS).complete


def test_an_exception_from_robots_holds_for_its_host_and_time_and_the_archive_says_so(
    make_site, crawl_to_the_end, work_off
):
    site = make_site(
        {
            "/robots.txt": "User-agent: *\nDisallow: /private",
            "/": links("/private/x"),
            "/private/x": "secret",
        }
    )
    run = crawl_to_the_end(f"{site.url}/")
    assert (
        "forbids it by the line “Disallow: /private”"
        in told(run, f"{site.url}/private/x")[1]["robots"]
    )

    row = except_host(run.crawl, f"{site.address}:{site.port}", "agreed with its owner", 1)
    assert "ignores its robots.txt" in told(run, f"{site.url}/private/x")[1]["robots"]
    again = start_run(run.crawl)
    work_off(again)

    assert fate(again)["/private/x"] == ("s", 200)
    assert b"agreed with its owner" in gzip.decompress(
        ArchiveFile.objects.get(run=again).path.read_bytes()
    )
    end_exception(run.crawl, row.pk)
    assert "ignores its robots.txt" not in told(run, f"{site.url}/private/x")[1]["robots"]


def test_a_robots_txt_is_read_for_a_page_by_a_background_job(order):
    url, crawl = "http://127.0.0.1:8900/a", create_crawl(order("http://127.0.0.1:8900/"))
    body = b"User-agent: *\nDisallow: /a\n" + b"# filler\n" * 10_000
    now = timezone.now()
    times = {"fetched_at": now, "expires_at": now}
    RobotsFile.objects.create(origin="http://127.0.0.1:8900", status=200, body=body, **times)
    run, operator = start_run(crawl), browser("operator")

    waiting = operator.get(reverse("crawling:url"), {"u": url}).content.decode()
    api = operator.get("/api/v1/url-history", {"url": url}).json()

    assert "is being read in the background" in waiting
    assert "hx-get" in waiting
    assert api["pending"] is True
    assert Inquiry.objects.count() == 1
    assert "forbids it by the line “Disallow: /a”" in told(run, url)[1]["robots"]
    shown = operator.get(reverse("crawling:url"), {"u": url}).content.decode()
    assert "by the line “Disallow: /a”" in shown
    assert "hx-get" not in shown.partition("<h1")[2]
    assert operator.get("/api/v1/url-history", {"url": url}).json()["pending"] is False


def test_no_more_questions_wait_for_background_jobs_than_are_answered_in_seconds(
    order, monkeypatch
):
    monkeypatch.setattr(inquiries, "MOST_OPEN", 2)
    site, now = "http://127.0.0.1:8900", timezone.now()
    times = {"fetched_at": now, "expires_at": now}
    RobotsFile.objects.create(origin=site, status=200, body=b"", **times)
    start_run(create_crawl(order(f"{site}/")))
    operator = browser("operator")
    for path in "ab":
        assert operator.get("/api/v1/url-history", {"url": f"{site}/{path}"}).status_code == 200

    refused = operator.get("/api/v1/url-history", {"url": f"{site}/c"})
    page = operator.get(reverse("crawling:url"), {"u": f"{site}/c"})

    assert [answer.status_code for answer in (refused, page)] == [503, 503]
    assert int(refused["Retry-After"]) == int(page["Retry-After"]) == AGAIN_SECONDS
    assert Inquiry.objects.count() == 2
    assert operator.get("/api/v1/url-history", {"url": f"{site}/b"}).status_code == 200
    run_job(Inquiry.objects.latest("pk").pk)
    assert operator.get("/api/v1/url-history", {"url": f"{site}/c"}).status_code == 200


def test_a_robots_txt_that_was_forgotten_meanwhile_is_told(order):
    crawl = create_crawl(order("http://127.0.0.1:8900/"))
    now = timezone.now()
    times = {"fetched_at": now, "expires_at": now}
    RobotsFile.objects.create(origin="http://127.0.0.1:8900", status=200, body=b"", **times)
    start_run(crawl)
    decisions_about("http://127.0.0.1:8900/a", crawl=crawl)
    RobotsFile.objects.all().delete()

    run_job(Inquiry.objects.get().pk)

    assert Inquiry.objects.get().why_failed == "It was forgotten meanwhile."


def test_crawls_judge_a_url_by_their_own_seeds_in_the_same_queries_however_many_there_are(frontier):
    with CaptureQueriesContext(connection) as of_one:
        decisions_about("http://b.test/x")
    others = [Frontier(), Frontier()]
    others[0].sow("b.test/")

    with CaptureQueriesContext(connection) as of_three:
        _, answers = decisions_about("http://b.test/x")

    assert {answer.crawl: answer.admits for answer in answers} == {
        frontier.run.crawl: False,
        others[0].run.crawl: True,
        others[1].run.crawl: False,
    }
    assert len(of_three) == len(of_one)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("host", "www.a.test:8080"),
        ("domain", "a.test"),
        ("domain", "www.a.test"),
        ("domain", "test"),
        ("prefix", "http://www.a.test:8080/x/"),
        ("regex", "/x/[0-9]"),
        ("host", "www.a.test"),
        ("domain", "ww.a.test"),
        ("prefix", "http://www.a.test:8080/y/"),
    ],
)
@pytest.mark.django_db
def test_of_the_blocklist_what_covers_an_address_is_read(kind, text):
    BlocklistEntry.objects.create(kind=kind, text=text, reason="r")
    BlocklistEntry.objects.create(kind="host", text="other.test", reason="r")
    address = read_address("http://www.a.test:8080/x/1")

    assert current_blocklist(address).find(address) == current_blocklist().find(address)

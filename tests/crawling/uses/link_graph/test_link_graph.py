"""The link graph of a run: ranks and components as their definitions say, computed by a job that
may be killed, gone with what it was made of.
"""

from __future__ import annotations

import io
import json
import shutil
import xml.etree.ElementTree as ET
from datetime import timedelta
from functools import partial
from itertools import product
from pathlib import Path

import django_rq
import duckdb
import numpy as np
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from crawling.base.errors import WrongState
from crawling.datasets.catch_up import catch_up
from crawling.datasets.job_tables import JobTables
from crawling.jobs.enqueue import open_job
from crawling.jobs.removal import remove_deleted_jobs
from crawling.jobs.rq_jobs import BACKGROUND, RUN_JOB
from crawling.jobs.running import run_in_this_process
from crawling.models import BackgroundJob, Page, Run
from crawling.runs.housekeeping.deletion import delete_crawl
from crawling.runs.housekeeping.run_removal import remove_rows
from crawling.scheduler.messages import resend_lost_background_jobs
from crawling.uses.link_graph import computation, edges
from crawling.uses.link_graph.jobs import LINK_GRAPH
from crawling.uses.link_graph.lists import GRAPH, HOSTS, PAGES
from crawling.uses.withdrawals.withdrawing import withdraw_pages
from serving.listing.row_list import BadListRequest
from tests.crawling.pages import browser, soup
from tests.crawling.uses.link_graph.definitions import components, hubs_and_authorities, pagerank

WEB = {
    "/": '<a href="/a">a</a><a href="/b">b</a><a href="/b#x">again</a><a href="/">self</a>'
    '<img src="/a"><a href="http://elsewhere.test/x">out</a>',
    "/a": '<a href="/b">b</a><a href="/moved">m</a>',
    "/b": '<a href="/a">a</a><a href="/c">c</a><a href="http://elsewhere.test/y">out</a>',
    "/c": "no links",
    "/moved": (301, {"Location": "/c"}, ""),
}
EDGES = {
    ("/", "/a"),
    ("/", "/b"),
    ("/a", "/b"),
    ("/a", "/moved"),
    ("/b", "/a"),
    ("/b", "/c"),
    ("/moved", "/c"),
}


@pytest.fixture(scope="module")
def site(shared):
    return shared.serve(WEB)


@pytest.fixture(scope="module")
def crawled(site, shared, crawl_once) -> Run:
    run = crawl_once(f"{site.url}/")
    shared.do(catch_up, run.pk)
    shared.do(lambda: run_in_this_process(open_job(LINK_GRAPH, run, by=None)))
    return run


@pytest.fixture
def run(crawled, db) -> Run:
    return Run.objects.get(pk=crawled.pk)


@pytest.fixture
def graph(run) -> JobTables:
    return GRAPH.latest(run)


@pytest.fixture
def bare(run) -> Run:
    """The run before it had a graph."""
    BackgroundJob.objects.all().delete()
    shutil.rmtree(folder(run))
    return run


def folder(run) -> Path:
    return settings.ARCHIVE_DIR / f"link-graph{run.pk}"


@pytest.fixture
def background(bare):
    """The queue of background jobs, emptied."""
    queue = django_rq.get_queue(BACKGROUND)
    queue.empty()
    return queue


def list_pages(graph, wanted=None, *, most):
    return PAGES.page(graph.ask, wanted or {}, most=most)


def list_hosts(graph, wanted=None, *, most):
    return HOSTS.page(graph.ask, wanted or {}, most=most)


def test_pages_have_the_ranks_and_components_of_their_definitions(site, run, graph):
    rows, following = list_pages(graph, most=10)

    assert following is None
    found = {row.url.removeprefix(site.url): row for row in rows}
    assert set(found) == set(WEB)
    degrees = {path: (row.in_links, row.out_links) for path, row in found.items()}
    assert degrees == {
        path: (
            sum(target == path for _, target in EDGES),
            sum(source == path for source, _ in EDGES),
        )
        for path in WEB
    }
    hubs, authorities = hubs_and_authorities(set(WEB), EDGES)
    for name, expected in (
        ("pagerank", pagerank(set(WEB), EDGES)),
        ("hub", hubs),
        ("authority", authorities),
    ):
        told = {path: getattr(row, name) for path, row in found.items()}
        assert told == pytest.approx({p: len(WEB) * x for p, x in expected.items()}, abs=1e-3)
    assert {row.weak for row in rows} == {1}
    strong = {}
    for path, row in found.items():
        strong.setdefault(row.strong, set()).add(path)
    assert sorted(map(sorted, strong.values())) == components(set(WEB), EDGES)
    assert strong[1] == {"/a", "/b"}
    counts = graph.counts
    assert (counts["pages"], counts["links"], counts["hosts"]) == (5, 7, 2)
    assert (counts["weak_components"], counts["strong_components"]) == (1, 4)


def test_hosts_have_the_sums_of_their_pages_and_the_links_between_them(site, graph):
    home = site.url.removeprefix("http://")

    own, out = list_hosts(graph, most=10)[0]

    assert (own.host, own.domain, own.pages, own.pagerank) == (home, "", 5, pytest.approx(5))
    assert (own.in_links, own.out_links, own.inner_links, own.out_hosts) == (0, 2, 9, 1)
    assert (out.host, out.domain, out.pages) == ("elsewhere.test", "elsewhere.test", 0)
    assert (out.in_links, out.in_hosts, out.pagerank) == (2, 1, 0)
    assert list_hosts(graph, {"q": "WHERE"}, most=10)[0] == [out]


def test_a_list_goes_on_behind_its_key(graph):
    for rows_of, sort in product((PAGES, HOSTS), PAGES.sorts):
        ranked = partial(rows_of.page, graph.ask, {}, sort=sort)
        whole, _ = ranked(most=10)
        values = [getattr(row, sort) for row in whole]
        assert values == sorted(values, reverse=True)

        found, after = [], ""
        while after is not None:
            rows, after = ranked(after=after, most=1)
            found += rows

        assert found == whole
        with pytest.raises(BadListRequest):
            ranked(after="nonsense", most=1)


def test_pages_are_filtered_by_text_host_and_component(site, graph):
    home = site.url.removeprefix("http://")

    def found(**wanted):
        rows, _ = list_pages(graph, wanted, most=10)
        return {row.url.removeprefix(site.url) for row in rows}

    assert found(q="/MOV") == {"/moved"}
    assert found(host=home) == set(WEB)
    assert found(host="elsewhere.test") == set()
    assert found(component="strong-1") == {"/a", "/b"}
    assert found(component="strong-1", q="/a") == {"/a"}
    with pytest.raises(BadListRequest, match="must be like weak-1"):
        found(component="strong")


def test_page_json_and_command_tell_the_same(site, run, graph):
    viewer, crawl = browser("viewer"), run.crawl_id
    rows, _ = list_pages(graph, most=10)
    urls = [row.url for row in rows]

    page = soup(viewer.get(reverse("crawling:graph", args=[crawl])))
    assert [cell.a.get_text() for cell in page.select("tbody th")] == urls
    told = viewer.get(f"/api/v1/crawls/{crawl}/graph/pages").json()
    assert [row["url"] for row in told["items"]] == urls
    state = viewer.get(f"/api/v1/crawls/{crawl}/graph").json()
    assert (state["state"], state["pages"], state["newer_pages"]) == ("computed", 5, 0)
    whole = viewer.get(f"/api/v1/crawls/{crawl}/graph/components", {"kind": "strong"}).json()
    assert [(one["number"], one["pages"]) for one in whole["items"]] == [(1, 2)]
    out = io.StringIO()
    call_command("crawl", "graph", str(crawl), "--json", stdout=out)
    assert [json.loads(line)["url"] for line in out.getvalue().splitlines()] == urls
    best = Page.objects.get(url__url=urls[0])
    detail = soup(viewer.get(reverse("crawling:page", args=[crawl, best.pk]))).main.text
    assert "(place 1 of 5)" in " ".join(detail.split())


def test_files_have_all_pages_hosts_and_links(site, run, graph, tmp_path):
    viewer = browser("viewer")

    def file(kind, show):
        address = reverse("crawling:graph-file", args=[run.crawl_id, kind])
        return b"".join(viewer.get(address, {"show": show}).streaming_content)

    assert len(file("csv", "pages").splitlines()) == 1 + 5
    hosts = [json.loads(line)["host"] for line in file("jsonl", "hosts").splitlines()]
    assert hosts[1:] == ["elsewhere.test"] or hosts[:1] == ["elsewhere.test"]
    path = tmp_path / "pages.parquet"
    path.write_bytes(file("parquet", "pages"))
    totals = duckdb.sql(f"SELECT count(*), sum(pagerank) FROM '{path}'").fetchall()
    assert totals == [(5, pytest.approx(5))]
    space = "{http://graphml.graphdrawing.org/xmlns}"
    drawn = ET.fromstring(file("graphml", "pages"))
    names = {
        node.get("id"): node.find(f"{space}data[@key='node-url']").text.removeprefix(site.url)
        for node in drawn.iter(f"{space}node")
    }
    edges = {(names[e.get("source")], names[e.get("target")]) for e in drawn.iter(f"{space}edge")}
    assert edges == EDGES
    keys = {key.get("id") for key in drawn.iter(f"{space}key")}
    assert {data.get("key") for data in drawn.iter(f"{space}data")} <= keys
    (edge,) = ET.fromstring(file("graphml", "hosts")).iter(f"{space}edge")
    assert (edge.get("target"), edge.find(f"{space}data").text) == ("elsewhere.test", "2")


def test_a_job_computes_what_was_asked_for_and_the_page_says_what_is_newer(bare, background):
    operator = browser("operator")
    address = reverse("crawling:graph", args=[bare.crawl_id])
    assert operator.get(f"/api/v1/crawls/{bare.crawl_id}/graph").json()["state"] == "none"
    assert operator.get(f"/api/v1/crawls/{bare.crawl_id}/graph/pages").status_code == 404

    operator.post(address)
    operator.post(f"/api/v1/crawls/{bare.crawl_id}/graph/compute")

    (job,) = BackgroundJob.objects.all()  # both asked for one
    assert operator.get(f"/api/v1/crawls/{bare.crawl_id}/graph").json()["state"] == "waiting"
    assert "waits for a background worker" in operator.get(address).content.decode()
    assert background.job_ids == [f"job-{job.pk}"]
    asked = background.fetch_job(f"job-{job.pk}")
    assert (asked.func_name, asked.args) == (RUN_JOB, [job.pk])
    run_in_this_process(job)
    assert GRAPH.latest(bare) == JobTables(GRAPH, BackgroundJob.objects.get(pk=job.pk))
    Page.objects.filter(url__url__endswith="/a").update(fetched_at=timezone.now())
    assert "1\n  page of the run is newer" in operator.get(address).content.decode()


def test_a_killed_job_continues_and_leaves_no_file_behind(bare, background, monkeypatch):
    job = open_job(LINK_GRAPH, bare, by=None)

    def killed(*args):
        raise SystemExit

    with monkeypatch.context() as during:
        during.setattr(computation, "host_steps", killed)
        with pytest.raises(SystemExit):
            run_in_this_process(job)
    assert GRAPH.latest(bare) is None
    resend_lost_background_jobs()
    assert f"job-{job.pk}" in background.job_ids

    monkeypatch.setattr(edges, "_next_nodes", killed)  # what was done is not done again
    run_in_this_process(job)

    assert GRAPH.latest(bare).job.name == job.name
    assert len(list(folder(bare).iterdir())) == len(GRAPH.tables)


def test_another_machine_computes_it_anew_and_of_the_pages_as_they_are_then(bare, background):
    job, began_at = open_job(LINK_GRAPH, bare, by=None), timezone.now() - timedelta(days=1)
    name, begun = job.name, {"began_at": began_at, "progress": {"behind": 7}}
    BackgroundJob.objects.update(machine="another", **begun)

    run_in_this_process(job)

    told = browser("viewer").get(f"/api/v1/crawls/{bare.crawl_id}/graph").json()
    assert (told["state"], told["newer_pages"], told["behind"]) == ("computed", 0, 0)
    assert GRAPH.latest(bare).job.name != name


def test_a_job_that_was_killed_again_and_again_is_given_up(bare, background):
    job = open_job(LINK_GRAPH, bare, by=None)
    BackgroundJob.objects.update(attempts=LINK_GRAPH.attempts)

    with pytest.raises(CommandError, match=r"could not be computed\. It was broken off 3 times"):
        call_command("crawl", "graph", str(bare.crawl_id), "--compute")

    job.refresh_from_db()
    assert (job.state, job.trouble) == ("failed", LINK_GRAPH.broken_off)
    assert GRAPH.ask(bare, by=None).pk != job.pk


def test_a_new_graph_takes_the_place_of_the_old(run, graph):
    job = run_in_this_process(open_job(LINK_GRAPH, run, by=None))

    assert (GRAPH.latest(run).job.name, job.name != graph.job.name) == (job.name, True)
    assert BackgroundJob.objects.get() == job
    assert len(list(folder(run).iterdir())) == len(GRAPH.tables)


def test_a_withdrawn_page_is_in_no_graph(site, run, graph):
    asked = {"kind": "page", "text": f"{site.url}/b", "reason": "asked for", "by": None}

    withdraw_pages(run.crawl, None, **asked)

    assert GRAPH.latest(run) is None
    viewer = browser("viewer")
    assert viewer.get(f"/api/v1/crawls/{run.crawl_id}/graph/pages").status_code == 404
    remove_deleted_jobs()
    assert not folder(run).exists()
    run_in_this_process(open_job(LINK_GRAPH, run, by=None))
    rows, _ = list_pages(GRAPH.latest(run), most=10)
    assert {row.url.removeprefix(site.url) for row in rows} == set(WEB) - {"/b"}
    assert "/b" not in str(rows)


def test_pages_that_are_withdrawn_while_it_is_computed_are_in_no_graph(site, bare, monkeypatch):
    steps = computation.host_steps

    def late(*args):
        asked = {"kind": "page", "text": f"{site.url}/b", "reason": "asked for", "by": None}
        withdraw_pages(bare.crawl, None, **asked)
        return steps(*args)

    monkeypatch.setattr(computation, "host_steps", late)
    with pytest.raises(WrongState, match="no longer wanted"):
        run_in_this_process(open_job(LINK_GRAPH, bare, by=None))

    assert GRAPH.latest(bare) is None
    assert not folder(bare).exists()


def test_a_graph_goes_with_its_run(run, graph):
    delete_crawl(run.crawl, by=None, for_good=True)
    remove_rows(seconds=60)  # as the scheduler does with what half a second has left

    assert not BackgroundJob.objects.exists()
    assert not folder(run).exists()


def test_a_run_of_one_page_without_links_has_a_graph(make_site, crawl_to_the_end):
    run = crawl_to_the_end(f"{make_site({'/': 'alone'}).url}/")
    catch_up(run.pk)

    run_in_this_process(open_job(LINK_GRAPH, run, by=None))

    (row,) = list_pages(GRAPH.latest(run), most=10)[0]
    assert (row.pagerank, row.in_links, row.weak, row.strong) == (pytest.approx(1), 0, 1, 1)


@pytest.mark.parametrize("links", [0, 10, 100, 600_000])
def test_a_slice_has_few_pages_and_few_links(links):
    pages = np.array([(number, 0, links) for number in range(50_000)])

    slices = list(edges.page_slices(pages))

    covered = [page for some in slices for page in range(some["first"], some["last"] + 1)]
    longest = max(some["last"] - some["first"] + 1 for some in slices)
    assert covered == list(range(50_000))
    assert longest <= edges.SLICE
    assert longest == 1 or longest * links <= edges.SLICE_LINKS + links

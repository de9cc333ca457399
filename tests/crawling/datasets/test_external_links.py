"""Links out of a crawl's scope are tried, politely, and no more."""

from __future__ import annotations

from datetime import timedelta

from crawling.datasets.catch_up import catch_up
from crawling.fetching.pipeline import host_clock
from crawling.models import Page, Url
from crawling.orders.scope.scope import Reach, Scope
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.uses.link_check.link_check import list_problems
from crawling.uses.link_check.problem_kinds import ProblemKind
from crawling.web.addresses import read_address
from crawling.web.outages import read_outage
from tests.crawling.fetching.pipeline.test_crawl_path import links

ELSEWHERE = {
    "/robots.txt": (200, {}, "User-agent: *\nDisallow: /private\nSitemap: /map.xml"),
    "/page": f"<title></title>{links('/further')}",
    "/moved": (301, {"Location": "/page"}, ""),
    "/busy": (502, {}, "later"),
    "/private": "x",
}


def test_external_links_are_asked_for_once_and_not_read(
    make_site, crawl_to_the_end, free_port, monkeypatch
):
    monkeypatch.setattr(host_clock, "CHECK_PATIENCE_SECONDS", 0)
    other = make_site(ELSEWHERE, address="127.0.0.2")
    dead = [f"http://127.0.0.3:{free_port}/{page}" for page in ("a", "b")]
    out = links(*dead, *(other.url + page for page in (*ELSEWHERE, "/gone") if "rob" not in page))
    site = make_site({"/": f"<title>t</title>{out}{links('/here')}", "/here": "<title>h</title>"})

    run = crawl_to_the_end(f"{site.url}/", check_external=True)
    catch_up(run.pk)

    asked = [request.path for request in other.log]
    assert sorted(asked) == ["/busy", "/gone", "/moved", "/page", "/robots.txt"]
    assert Page.objects.get(url__url=f"{other.url}/page").bytes == 0
    broken, _ = list_problems(run, ProblemKind.BROKEN, most=50)
    assert {problem.url for problem in broken} == {
        *dead,
        f"{other.url}/gone",
        f"{other.url}/busy",
    }
    assert {source.page for problem in broken for source in problem.sources} == {f"{site.url}/"}
    (moved,) = list_problems(run, ProblemKind.REDIRECTED, most=50)[0]
    assert moved.detail == f"301, permanent: a redirect to {other.url}/page, 200 OK."
    assert list_problems(run, ProblemKind.TITLE, most=50)[0] == []
    assert Url.objects.get(url=f"{other.url}/private").state == "x"


def test_a_host_of_links_that_are_only_checked_is_given_up_after_a_minute(
    order, work_off, free_port, make_site
):
    page = links(f"http://127.0.0.3:{free_port}/")
    site = make_site({"/": page})
    run = start_run(create_crawl(order(f"{site.url}/", check_external=True)))

    def suspended(run):
        return run.queues.filter(outage__isnull=False).first()

    work_off(run, until=suspended)

    outage = read_outage(suspended(run).outage)
    assert outage.gives_up_at - outage.since == timedelta(minutes=1)


def test_the_rest_of_a_host_in_scope_is_of_the_crawls_sites():
    scope = Scope.of_seeds(Reach.PATH, [read_address("http://a.test/manual/")], None)

    assert scope.has_host_of(read_address("http://a.test/news/"))
    assert not scope.has_host_of(read_address("http://b.test/manual/"))

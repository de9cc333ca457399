"""A crawl from its order to its last page, through the real bank, frontier and shift."""

from __future__ import annotations

from itertools import pairwise

import pytest

from allocation.models import Process
from crawling.dashboard.base.crawl_views import crawl_view
from crawling.fetching.pipeline.visit import HostRoute
from crawling.models import Host, Page, RobotsFile, Url
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.web.politeness import BACKOFFS
from crawling.web.statuses import MOST_REDIRECTS, FetchStatus
from dnscache.protocol.answers import DnsStatus
from dnscache.resolution import AnswerSource, Resolution


def links(*targets: str) -> str:
    return "".join(f'<a href="{target}">{target}</a>' for target in targets)


def test_every_page_in_scope_is_fetched_once_and_kept(make_site, crawl_to_the_end):
    site = make_site(
        {
            "/": "<title>Home</title>" + links("/a", "/b", "/a#top"),
            "/a": links("/b", "/"),
            "/b": links("/lost"),
        }
    )

    run = crawl_to_the_end(f"{site.url}/")

    assert sorted(site.paths) == ["/", "/a", "/b", "/lost"]
    assert (run.state, run.reason) == ("finished", "Every URL in scope is done.")
    counts = crawl_view(run.crawl).counts
    assert (
        counts.discovered,
        counts.fetched,
        counts.succeeded,
        counts.failed,
        counts.queued,
        counts.in_process,
    ) == (4, 4, 3, 1, 0, 0)
    home = Page.objects.get(url__url=f"{site.url}/")
    assert (home.status, home.title, home.content_type, home.charset, home.address) == (
        200,
        "Home",
        "text/html",
        "utf-8",
        site.address,
    )


def test_at_the_end_nothing_is_held(make_site, crawl_to_the_end):
    site = make_site({"/": "hello"})

    run = crawl_to_the_end(f"{site.url}/")

    process = Process.objects.get(run_process__run=run)
    assert (process.state, process.holding, process.lease_until) == ("finished", False, None)
    assert not Host.objects.exclude(shift=None).exists()


def test_links_to_other_hosts_are_left_alone(make_site, crawl_to_the_end):
    other = make_site({"/": "never"}, address="127.0.0.3")
    site = make_site({"/": links(other.url, f"{other.url}/page")})

    crawl_to_the_end(f"{site.url}/")

    assert other.log == []


def test_a_seed_that_redirects_to_another_host_of_its_site_takes_the_crawl_there(
    make_site, crawl_to_the_end
):
    real = make_site({"/": links("/inside"), "/inside": "here"})
    site = make_site({"/": (301, {"Location": f"{real.url}/"}, "")})

    crawl_to_the_end(f"{site.url}/")

    assert real.paths == ["/", "/inside"]


@pytest.mark.parametrize(
    ("depth", "fetched"), [(0, ["/"]), (1, ["/", "/1"]), (None, ["/", "/1", "/2", "/3"])]
)
def test_links_are_followed_as_deep_as_ordered(make_site, crawl_to_the_end, depth, fetched):
    site = make_site({"/": links("/1"), "/1": links("/2"), "/2": links("/3"), "/3": ""})

    crawl_to_the_end(f"{site.url}/", max_depth=depth)

    assert site.paths == fetched


@pytest.mark.parametrize("batch_size", [1, 7, 100])
def test_the_page_limit_is_exact(make_site, crawl_to_the_end, batch_size):
    site = make_site(
        {"/": links(*(f"/{n}" for n in range(50))), **{f"/{n}": "x" for n in range(50)}}
    )

    run = crawl_to_the_end(f"{site.url}/", max_pages=10, batch_size=batch_size)

    assert len(site.paths) == 10
    assert run.reason == "The limit of 10 pages is reached; more URLs are queued."


def test_robots_txt_is_asked_for_once_and_obeyed(make_site, crawl_to_the_end):
    site = make_site(
        {
            "/robots.txt": "User-agent: *\nDisallow: /private/",
            "/": links("/private/a", "/b"),
            "/b": "",
            "/private/a": "",
        }
    )

    run = crawl_to_the_end(f"{site.url}/")

    assert [request.path for request in site.log] == ["/robots.txt", "/", "/b"]
    kept_out = Url.objects.get(url__endswith="/private/a")
    assert (kept_out.state, kept_out.error) == ("x", "The site's robots.txt forbids this page.")
    assert crawl_view(run.crawl).counts.excluded == 1


def test_a_second_crawl_knows_the_robots_txt(make_site, crawl_to_the_end):
    site = make_site({"/": ""})
    crawl_to_the_end(f"{site.url}/", name="first")

    crawl_to_the_end(f"{site.url}/", name="second")

    assert [request.path for request in site.log] == ["/robots.txt", "/", "/"]
    assert RobotsFile.objects.count() == 1


def test_every_request_says_who_asks(make_site, crawl_to_the_end):
    site = make_site({"/": ""})

    crawl_to_the_end(f"{site.url}/")

    assert {request.user_agent for request in site.log} == {"crawlsite/1.0"}


def test_the_delay_is_kept_between_all_requests_robots_txt_included(make_site, crawl_to_the_end):
    site = make_site({"/": links("/a", "/b"), "/a": "", "/b": ""})

    crawl_to_the_end(f"{site.url}/", delay_seconds=0.3)

    assert min(gaps(site)) >= 0.3


def test_a_crawl_delay_in_robots_txt_counts_if_it_is_longer(make_site, crawl_to_the_end):
    site = make_site({"/robots.txt": "User-agent: *\nCrawl-delay: 0.4", "/": links("/a"), "/a": ""})

    crawl_to_the_end(f"{site.url}/", delay_seconds=0.1)

    assert gaps(site)[-1] >= 0.4


def test_the_next_crawl_of_a_host_keeps_the_delay_that_the_last_one_owes(
    make_site, crawl_to_the_end
):
    site = make_site({"/": ""})
    crawl_to_the_end(f"{site.url}/", name="first", delay_seconds=0.5)

    crawl_to_the_end(f"{site.url}/", name="second", delay_seconds=0)

    assert gaps(site)[-1] >= 0.5


def gaps(site) -> list[float]:
    times = [request.at for request in site.log]
    return [later - earlier for earlier, later in pairwise(times)]


def test_an_answer_that_may_pass_is_asked_for_again(make_site, crawl_to_the_end, monkeypatch):
    monkeypatch.setattr("crawling.web.politeness.FIRST_RETRY_SECONDS", 0.1)
    monkeypatch.setitem(BACKOFFS, 503, (0.1, 1.0))
    answers = iter([(503, {}, ""), (200, {"Content-Type": "text/html"}, "better")])
    site = make_site({"/": lambda request: next(answers)})

    run = crawl_to_the_end(f"{site.url}/")

    assert site.paths == ["/", "/"]
    url = Url.objects.get(run=run)
    assert (url.state, url.status, url.attempts) == ("s", 200, 2)


def test_a_host_that_never_answers_fails_its_urls_and_ends_the_run(crawl_to_the_end, free_port):
    run = crawl_to_the_end(f"http://127.0.0.1:{free_port}/", host_patience_seconds=0)

    url = Url.objects.get(run=run)
    assert (run.state, url.state, url.attempts) == ("failed", "f", 1)
    assert "did not accept a connection" in url.error


def test_addresses_that_nobody_allowed_are_refused(make_site, order, work_off, loopback):
    site = make_site({"/": ""})
    crawl = create_crawl(order(f"{site.url}/"))
    loopback.delete()

    run = work_off(start_run(crawl))

    assert site.log == []
    assert "no administrator has allowed it" in Url.objects.get(run=run).error


def test_our_own_services_are_never_fetched_even_if_allowed(make_site, order, work_off, settings):
    site = make_site({"/": ""})
    settings.OWN_SERVICES = frozenset({(site.address, site.port)})

    run = work_off(start_run(create_crawl(order(f"{site.url}/"))))

    assert site.log == []
    assert "a service of this site itself" in Url.objects.get(run=run).error


def test_a_name_is_resolved_through_the_cache_and_its_address_vetted(
    make_site, dns_server, order, work_off, identified
):
    site = make_site({"/": ""})
    dns_server.hosts["site.test"] = [site.address]

    run = work_off(start_run(create_crawl(order(f"http://site.test:{site.port}/"))))

    assert run.state == "finished"
    assert [request.host for request in site.log] == [f"site.test:{site.port}"] * 2
    assert dns_server.count("site.test", "A", "udp") == 1


def test_two_processes_share_the_hosts_of_a_run(make_site, crawl_to_the_end):
    sites = [make_site({"/": links("/a"), "/a": ""}, address=f"127.0.0.{n}") for n in range(2, 18)]

    run = crawl_to_the_end(*(f"{site.url}/" for site in sites), processes=2)

    assert [sorted(site.paths) for site in sites] == [["/", "/a"]] * 16
    assert set(run.queues.values_list("process_number", flat=True)) == {0, 1}
    assert run.processes.filter(shifts__isnull=False).distinct().count() == 2


def test_a_crawl_by_path_stays_in_the_directory_its_seed_redirects_to(make_site, crawl_to_the_end):
    page = '<a href="/docs/new/a">a</a><a href="/docs/old">old</a><a href="/">home</a>'
    site = make_site(
        {
            "/docs/new/": page,
            "/docs/new/a": page,
            "/docs/old": page,
            "/": page,
            "/start/": (302, {"Location": "/docs/new/"}, ""),
        }
    )

    crawl_to_the_end(f"{site.url}/start/", scope="path")

    assert set(site.paths) == {"/start/", "/docs/new/", "/docs/new/a"}


def test_a_chain_of_redirects_ends_with_a_sentence(make_site, crawl_to_the_end):
    site = make_site({})
    site.pages |= {f"/{n}": (302, {"Location": f"/{n + 1}"}, "") for n in range(100)}

    run = crawl_to_the_end(f"{site.url}/0")

    assert site.paths == [f"/{n}" for n in range(MOST_REDIRECTS + 1)]
    last = run.urls.order_by("pk").last()
    assert (last.state, last.status, last.error) == (
        "f",
        FetchStatus.TOO_MANY_REDIRECTS,
        "More than 20 redirects led from one to the next.",
    )


def test_a_link_begins_a_new_chain(make_site, crawl_to_the_end):
    site = make_site({})
    site.pages |= {f"/{n}": (302, {"Location": f"/{n + 1}"}, "") for n in range(15)}
    site.pages |= {"/15": '<a href="/100">on</a>', "/115": "the end"}
    site.pages |= {f"/{n}": (302, {"Location": f"/{n + 1}"}, "") for n in range(100, 115)}

    run = crawl_to_the_end(f"{site.url}/0")

    assert "/115" in site.paths
    assert not run.urls.exclude(state="s").exists()


def test_of_a_host_with_several_addresses_one_that_answers_is_enough(
    make_site, crawl_to_the_end, dns_server, identified
):
    site = make_site({"/": links("/a"), "/a": "here"})
    dns_server.hosts["two.test"] = ["127.0.0.8", "127.0.0.9", "127.0.0.1"]
    home = site.url.replace("127.0.0.1", "two.test")

    crawl_to_the_end(f"{home}/")

    assert site.paths == ["/", "/a"]
    assert set(Url.objects.values_list("state", "attempts")) == {("s", 1)}


def test_each_address_that_does_not_answer_is_left_once():
    route = HostRoute(
        Resolution(
            "two.test",
            DnsStatus.OK,
            ("192.0.2.1", "::ffff:192.0.2.2"),
            60,
            0,
            AnswerSource.LOOKUP,
            0,
        )
    )

    assert [route.demote(address) for address in ("192.0.2.1", "192.0.2.2", "192.0.2.1")] == [
        True,
        False,
        False,
    ]

"""Which URLs belong to a crawl (SEEDS W10)."""

import time

import pytest

from crawling.orders.scope.scope import DEEPEST, Reach, Scope
from crawling.web.addresses import read_address

SEEDS = [read_address(url) for url in ("http://a.test/x", "https://b.test/", "http://c.test:8080/")]


def scope_of(*seeds, reach=Reach.HOST, max_depth=None):
    return Scope.of_seeds(reach, [read_address(seed) for seed in seeds], max_depth)


def reached(scope, *urls):
    return [url for url in urls if scope.reaches(read_address(url))]


@pytest.mark.parametrize(
    "url", ["http://a.test/", "https://a.test/y?z", "http://b.test/", "http://c.test:8080/x"]
)
def test_the_seeds_hosts_are_in_scope(url):
    assert Scope.of_seeds(Reach.HOST, SEEDS, None).admits(read_address(url), 1)


@pytest.mark.parametrize(
    "url",
    [
        "http://d.test/",
        "http://www.a.test/",
        "http://test/",
        "http://a.test:8080/",
        "http://c.test/",
    ],
)
def test_every_other_host_is_out_of_scope(url):
    assert not Scope.of_seeds(Reach.HOST, SEEDS, None).admits(read_address(url), 1)


def test_by_path_a_crawl_stays_in_the_directories_of_its_seeds():
    scope = scope_of(
        "http://a.test/manual/start.html?lang=en", "http://b.test/books/", reach=Reach.PATH
    )
    inside = [
        "http://a.test/manual/",
        "https://a.test/manual/x/y?z",
        "http://b.test/books/1",
        "http://a.test/manual/other.html",
    ]

    assert reached(scope, *inside) == inside
    assert not reached(
        scope,
        "http://a.test/",
        "http://a.test/manual",
        "http://a.test/manuals/",
        "http://b.test/manual/",
        "http://c.test/",
    )


def test_a_link_takes_no_longer_to_judge_where_a_crawl_has_very_many_seeds():
    seeds = [read_address(f"http://a.test/{number}/page") for number in range(10_000)]
    scope = Scope.of_seeds(Reach.PATH, seeds, None)
    link = read_address("http://a.test/5/other")
    began = time.thread_time()

    assert all(scope.is_on_site(link) for _ in range(2_000))
    assert time.thread_time() - began < 0.5


def test_a_slash_in_the_query_makes_no_directory():
    assert not reached(
        scope_of("http://a.test/x/", reach=Reach.PATH), "http://a.test/?path=a.test/x/"
    )


def test_a_seed_without_a_directory_takes_in_its_whole_host():
    scope = scope_of("http://a.test/start", reach=Reach.PATH)

    assert reached(scope, "http://a.test/far/away/") == ["http://a.test/far/away/"]


def test_by_domain_a_crawl_takes_in_all_hosts_under_the_domain_somebody_registered():
    scope = scope_of("http://docs.example.co.uk/x", reach=Reach.DOMAIN)
    inside = ["http://example.co.uk/", "https://a.b.example.co.uk:8443/y"]

    assert reached(scope, *inside) == inside
    assert not reached(
        scope,
        "http://other.co.uk/",
        "http://co.uk/",
        "http://example.com/",
        "http://badexample.co.uk/",
    )


def test_those_who_share_a_hosting_service_have_domains_of_their_own():
    assert not reached(
        scope_of("http://ann.github.io/", reach=Reach.DOMAIN),
        "http://bob.github.io/",
        "http://github.io/",
    )


@pytest.mark.parametrize("seed", ["http://127.0.0.1:8010/", "http://[::1]:8010/"])
def test_a_literal_address_has_no_domain_and_stands_for_itself_alone(seed):
    scope = scope_of(seed, reach=Reach.DOMAIN)

    assert reached(scope, seed) == [seed]
    assert not reached(
        scope,
        "http://127.0.0.1:8011/",
        "http://127.0.0.2:8010/",
        "http://0.0.1/",
        "http://[::2]:8010/",
    )


def test_a_name_without_a_dot_is_its_own_domain():
    scope = scope_of("http://intranet/", reach=Reach.DOMAIN)

    assert reached(scope, "http://intranet:81/", "http://wiki/") == ["http://intranet:81/"]


def test_where_a_seed_redirects_to_on_its_site_widens_the_scope_and_another_site_does_not():
    scope = scope_of("http://a.test/x/", "http://127.0.0.1:80/", reach=Reach.PATH).with_targets(
        read_address(url)
        for url in ("https://www.a.test/y/", "http://b.test/y/", "http://127.0.0.1:81/z/")
    )

    assert reached(
        scope,
        *("http://a.test/x/1", "https://www.a.test/y/1", "http://b.test/y/1"),
        *("http://a.test/z/", "http://127.0.0.1:81/z/1"),
    ) == ["http://a.test/x/1", "https://www.a.test/y/1", "http://127.0.0.1:81/z/1"]


def test_a_seed_without_a_slash_stands_for_its_own_directory_once_it_redirects_there():
    scope = scope_of("http://a.test/docs?page", "http://a.test/b/index.html", reach=Reach.PATH)
    urls = ["http://a.test/docs/1", "http://a.test/docsearch", "http://a.test/b/2"]

    assert reached(scope, *urls) == urls
    moved = scope.with_targets([read_address("http://a.test/docs/")])
    assert reached(moved, *urls) == ["http://a.test/docs/1", "http://a.test/b/2"]
    assert reached(moved.with_seeds([read_address("http://a.test/docs")]), *urls) == [
        "http://a.test/docs/1",
        "http://a.test/b/2",
    ]


@pytest.mark.parametrize(
    ("reach", "why"),
    [
        (Reach.HOST, "www.b.test is no host of a start URL"),
        (Reach.PATH, "www.b.test/c/ is in no directory of a start URL"),
        (Reach.DOMAIN, "b.test is no domain of a start URL"),
    ],
)
def test_what_is_out_of_scope_is_told_why(reach, why):
    assert (
        scope_of("http://a.test/", reach=reach).why_not(read_address("http://www.b.test/c/d"), 1)
        == why
    )


def test_what_is_too_deep_is_told_the_limit():
    scope = scope_of("http://a.test/", max_depth=2)

    assert [scope.why_not(read_address("http://a.test/"), depth) for depth in (2, 3)] == [
        "",
        "the depth is limited to 2",
    ]


def test_what_is_deeper_than_the_limit_is_out_of_scope():
    scope = Scope.of_seeds(Reach.HOST, SEEDS, 2)

    assert [scope.admits(read_address("http://a.test/"), depth) for depth in range(4)] == [
        True,
        True,
        True,
        False,
    ]


def test_a_limit_of_zero_takes_the_seeds_alone():
    assert [Scope.of_seeds(Reach.HOST, SEEDS, 0).admits_depth(depth) for depth in (0, 1)] == [
        True,
        False,
    ]


def test_without_a_limit_a_crawl_goes_as_deep_as_a_depth_can_be_stored():
    scope = Scope.of_seeds(Reach.HOST, SEEDS, None)

    assert scope.admits_depth(DEEPEST)
    assert not scope.admits_depth(DEEPEST + 1)

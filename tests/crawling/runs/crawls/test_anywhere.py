"""A crawl that may go anywhere, on a web of thousands of hosts, and the limits that hold it."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b

import pytest

from crawling.orders.order import read_order
from crawling.runs.crawls.blocklist import add_entry
from tests.crawling.fetching.pipeline.test_crawl_path import links

PAGES = ("", "a", "b", "c", "d")
HOSTS_A_DOMAIN = 20


def name_of(host):
    """Twenty hosts in a row are of one domain."""
    return f"h{host % HOSTS_A_DOMAIN}.d{host // HOSTS_A_DOMAIN}.test"


class ManyHosts:
    """`hosts` names at one address. Each page leads to the pages of its host and to four hosts."""

    def __init__(self, hosts, make_site, dns_server):
        self.hosts = hosts
        self.site = make_site({f"/{page}": self.page for page in PAGES})
        for domain in range(hosts // HOSTS_A_DOMAIN + 1):
            dns_server.hosts[f"*.d{domain}.test"] = [self.site.address]

    def url(self, host):
        return f"http://{name_of(host)}:{self.site.port}/"

    def page(self, request):
        name = request.host.partition(":")[0]
        ahead = [
            int.from_bytes(blake2b(f"{name}{request.path}{n}".encode(), digest_size=4).digest())
            % self.hosts
            for n in range(4)
        ]
        body = f"<p>{name} {request.path}</p>" + links(
            *(f"/{page}" for page in PAGES), *map(self.url, ahead)
        )
        return 200, {"Content-Type": "text/html"}, body

    def fetched(self):
        """Pages by host."""
        asked = [one for one in self.site.log if one.path != "/robots.txt"]
        return Counter(one.host.partition(":")[0] for one in asked)


@pytest.mark.parametrize(
    ("hosts", "most"),
    [
        (100, 25),
        pytest.param(3_000, 1_000, marks=[pytest.mark.drill, pytest.mark.timeout(900)]),
    ],
)
def test_a_crawl_of_any_site_keeps_to_the_limits_that_guard_it(
    identified, make_site, dns_server, crawl_to_the_end, hosts, most
):
    web = ManyHosts(hosts, make_site, dns_server)
    add_entry("domain", "d1.test", "asked for")

    run = crawl_to_the_end(
        web.url(0),
        scope="anywhere",
        max_hosts=most,
        host_max_pages=3,
        domain_max_pages=18,
        domain_max_hosts=8,
        batch_size=7,
    )

    fetched = web.fetched()
    by_domain = Counter(name.partition(".")[2] for name in fetched.elements())
    hosts_by_domain = Counter(name.partition(".")[2] for name in fetched)
    assert len(fetched) <= most == run.queues.count()
    assert max(fetched.values()) == 3
    assert max(by_domain.values()) <= 18
    assert max(hosts_by_domain.values()) <= 8
    assert not [name for name in fetched if name.endswith(".d1.test")]
    rules = dict(run.verdict_counts.values_list("rule", "kept"))
    assert {"blocklist", "crawl_hosts"} <= rules.keys()
    assert run.reason.startswith("Every URL in scope is done, but for those on")


def test_links_off_site_are_counted_from_the_domains_of_the_seeds(
    identified, make_site, dns_server, crawl_to_the_end
):
    site = make_site({"/": lambda request: (200, {"Content-Type": "text/html"}, page(request))})
    names = [f"www.{word}.test" for word in ("home", "one", "two", "three")]
    for name in [*names, "docs.home.test"]:
        dns_server.hosts[name] = [site.address]

    def page(request):
        here = request.host.partition(":")[0]
        ahead = names[names.index(here) + 1 :][:1] if here in names else []
        return links(
            f"http://docs.home.test:{site.port}/",
            *(f"http://{name}:{site.port}/" for name in ahead),
        )

    crawl_to_the_end(
        f"http://{names[0]}:{site.port}/",
        scope="anywhere",
        off_site_hops=2,
        max_hosts=100,
        host_max_pages=9,
    )

    asked = {one.host.partition(":")[0] for one in site.log}
    assert asked == {"www.home.test", "docs.home.test", "www.one.test", "www.two.test"}


@pytest.mark.parametrize(
    ("guards", "missing"),
    [
        ({}, {"max_hosts", "host_max_pages"}),
        ({"host_max_pages": 5}, {"max_hosts"}),
        ({"max_hosts": 5}, {"host_max_pages"}),
        ({"max_hosts": 5, "domain_max_pages": 9}, set()),
    ],
)
def test_an_order_for_any_site_without_its_guards_is_refused(guards, missing):
    order = {"name": "all", "seeds": ["http://a.test/"], "scope": "anywhere"}

    assert read_order({**order, **guards})[1].keys() == missing

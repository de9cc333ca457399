"""No crawl connects to what is not allowed, however a server, a name or an address leads there."""

import pytest

from crawling.models import Url
from crawling.web.statuses import FetchStatus
from dnscache.services import flush_names

#: 127.0.0.2 in disguise
SPELLINGS = [
    "127.2",
    "2130706434",
    "0x7f000002",
    "0177.0.0.2",
    "[::ffff:127.0.0.2]",
    "[::ffff:7f00:2]",
    "[64:ff9b::7f00:2]",
    "[::127.0.0.2]",
]


@pytest.fixture
def inside(make_site, loopback):
    """A site that is not allowed; 127.0.0.1 is."""
    loopback.network = "127.0.0.1/32"
    loopback.save()
    return make_site({"/": "secret"}, address="127.0.0.2")


def test_neither_spellings_nor_names_nor_redirects_lead_to_what_is_not_allowed(
    make_site, crawl_to_the_end, dns_server, inside, identified
):
    dns_server.hosts |= {
        "in.test": ["127.0.0.2"],
        "mixed.test": ["10.0.0.1", "127.0.0.2"],
        "metadata.test": ["169.254.169.254"],
    }
    hosts = [*SPELLINGS, "in.test", "mixed.test", "metadata.test"]
    port = inside.url.rpartition(":")[2]
    outside = make_site(
        {f"/{n}": (302, {"Location": f"http://{host}:{port}/"}, "") for n, host in enumerate(hosts)}
    )

    run = crawl_to_the_end(*[f"{outside.url}/{n}" for n in range(len(hosts))])

    assert inside.log == []
    refused = Url.objects.filter(run=run, status=FetchStatus.ADDRESS_REFUSED).values_list(
        "url", flat=True
    )
    # Spellings of one address are one URL; what NAT64 and `::` carry are others.
    assert {url.removesuffix(f":{port}/") for url in refused} == {
        f"http://{host}"
        for host in (
            "127.0.0.2",
            "[::ffff:7f00:2]",
            "[64:ff9b::7f00:2]",
            "[::7f00:2]",
            "in.test",
            "mixed.test",
            "metadata.test",
        )
    }


def test_a_name_that_is_bound_anew_leads_nowhere_else(
    make_site, crawl_to_the_end, dns_server, inside, identified
):
    outside = make_site({"/": "hello"})
    dns_server.hosts["moves.test"] = ["127.0.0.1"]
    crawl_to_the_end(outside.url.replace("127.0.0.1", "moves.test") + "/")

    dns_server.hosts["moves.test"] = ["127.0.0.2"]
    flush_names(["moves.test"])
    run = crawl_to_the_end(inside.url.replace("127.0.0.2", "moves.test") + "/", name="again")

    assert (outside.paths, inside.log) == (["/"], [])
    assert Url.objects.get(run=run).status == FetchStatus.ADDRESS_REFUSED

"""The graph of hosts as drawings of at most 300 nodes, of which groups of hosts open others."""

from __future__ import annotations

import random
import tracemalloc
from collections import Counter

import numpy as np
import pytest
from django.urls import reverse

from crawling.datasets.catch_up import catch_up
from crawling.jobs.enqueue import open_job
from crawling.jobs.running import run_in_this_process
from crawling.models import Run
from crawling.uses.link_graph import drawings
from crawling.uses.link_graph.drawing_steps import positions
from crawling.uses.link_graph.drawings import (
    MOST_NODES,
    HostNodes,
    Hosts,
    Lines,
    draw_hosts,
    heaviest_lines,
    lines_of,
)
from crawling.uses.link_graph.jobs import LINK_GRAPH
from tests.crawling.pages import browser, soup


def graph_of(hosts: int, domains: int, links: int = 3000) -> tuple[Hosts, Lines]:
    """Hosts with the most links first, as the table has them, and lines at random."""
    chance = random.Random(7)
    names = [f"h{n}.d{chance.randrange(domains)}.test" for n in range(hosts)]
    pairs = Counter(tuple(chance.sample(range(hosts), 2)) for _ in range(links))
    ends = np.array(list(pairs)).T
    return Hosts(names, [name.partition(".")[2] for name in names]), Lines(
        ends[0], ends[1], np.array(list(pairs.values()))
    )


@pytest.mark.parametrize(("hosts", "domains"), [(300, 40), (500, 280), (1000, 700), (700, 1)])
def test_every_host_is_a_node_of_one_drawing_that_groups_lead_to(hosts, domains):
    graph, _ = graph_of(hosts, domains)
    drawn = {one.number: one for one in draw_hosts(graph, range(hosts))}

    assert all(len(one.nodes) <= MOST_NODES for one in drawn.values())
    assert len(drawn[0].nodes) == min(hosts, MOST_NODES)
    for one in drawn.values():
        for node in one.nodes:
            if node.opens is not None:
                inner = [host for part in drawn[node.opens].nodes for host in part.hosts]
                assert sorted(inner) == sorted(node.hosts)
    opened = [node.opens for one in drawn.values() for node in one.nodes if node.opens is not None]
    assert sorted([0, *opened]) == sorted(drawn)
    single = [n.name for one in drawn.values() for n in one.nodes if n.kind == "host"]
    assert sorted(single) == sorted(graph.names)


def test_a_line_has_the_links_between_all_hosts_of_its_nodes():
    graph, lines = graph_of(1000, 700)
    all_drawings = list(draw_hosts(graph, range(1000)))
    pairs = HostNodes(1000, all_drawings).pairs(lines)
    for one in all_drawings:
        joined = lines_of(one.number, pairs["pair"], pairs["links"])
        shown = heaviest_lines(joined)
        places = {host: at for at, node in enumerate(one.nodes) for host in node.hosts}
        expected = Counter()
        for a, b, links in zip(lines.ones, lines.others, lines.links, strict=True):
            if a in places and b in places and places[a] != places[b]:
                expected[frozenset((places[a], places[b]))] += links

        found = {
            frozenset((int(a), int(b))): links
            for a, b, links in zip(shown.ones, shown.others, shown.links, strict=True)
        }
        assert len(joined.links) == len(expected)
        assert len(found) == min(len(expected), drawings.MOST_LINES)
        assert found.items() <= expected.items()
        assert sorted(found.values()) == sorted(expected.values())[-len(found) or len(expected) :]


def test_many_hosts_of_their_own_domains_take_memory_in_proportion():
    graph, lines = graph_of(20_000, 1_000_000)
    tracemalloc.start()
    try:
        nodes = HostNodes(20_000, draw_hosts(graph, range(20_000)))
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most_bytes < 10 * 2**20  # 30 with two numbers for each host and each drawing above it
    assert nodes.pairs(lines)["links"].sum() == lines.links.sum()


def test_the_same_graph_stands_in_the_same_places_within_the_drawing():
    _, lines = graph_of(200, 40, links=250)

    placed = positions(200, lines)

    assert (placed == positions(200, lines)).all()
    assert placed.min() >= 0
    assert placed.max() <= 1
    assert len(np.unique(placed.round(4), axis=0)) == 200
    assert positions(0, Lines(*(np.empty(0, np.int64),) * 3)).shape == (0, 2)


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    """A run whose pages link to hosts of three domains."""
    hosts = [f"www{n}.{domain}.test" for domain in ("one", "two", "three") for n in range(3)]
    out = "".join(f'<a href="http://{host}/">{host}</a>' for host in hosts)
    run = crawl_once(f"{shared.serve({'/': out, '/b': ''}).url}/")
    shared.do(catch_up, run.pk)
    return run


@pytest.fixture
def crawl(crawled, db, monkeypatch):
    """With drawings of three nodes."""
    monkeypatch.setattr(drawings, "MOST_NODES", 3)
    run = Run.objects.get(pk=crawled.pk)
    run_in_this_process(open_job(LINK_GRAPH, run, by=None))
    return run.crawl


def test_page_and_json_show_the_same_drawing_and_groups_open(crawl):
    viewer, address = browser("viewer"), reverse("crawling:graph", args=[crawl.pk])
    number, seen = 0, []
    while number is not None:
        told = viewer.get(f"/api/v1/crawls/{crawl.pk}/graph/drawings/{number}").json()
        page = soup(viewer.get(address, {"show": "drawing", "drawing": number}))
        rows = [row.th.get_text().split()[0] for row in page.select(".host-graph tbody tr")]
        titles = [one.title.get_text() for one in page.select("svg a")]
        assert len(told["nodes"]) == len(rows) == len(titles) <= 3
        assert len(page.select("svg line")) == len(told["lines"])
        assert all(title.startswith(row) for title, row in zip(titles, rows, strict=True))
        seen += [node["name"] for node in told["nodes"] if node["kind"] == "host"]
        groups = [node["opens"] for node in told["nodes"] if node["opens"]]
        assert f"drawing={groups[-1]}" in str(page) if groups else True
        number = groups[-1] if groups else None
    assert len(set(seen)) == len(seen) > 3
    assert viewer.get(address, {"show": "drawing", "drawing": 99}).status_code == 404


def test_a_search_leads_to_the_drawing_that_shows_the_host(crawl):
    viewer, address = browser("viewer"), reverse("crawling:graph", args=[crawl.pk])

    found = soup(viewer.get(address, {"show": "drawing", "q": "WWW2.THREE"}))

    (link,) = found.select("#hits + .scroll tbody a")
    drawn = soup(viewer.get(address + link["href"]))
    assert drawn.select_one("svg a.found title").get_text().startswith("www2.three.test:")
    nothing = soup(viewer.get(address, {"show": "drawing", "q": "zz"}))
    assert "No host has this in its name." in nothing.get_text()

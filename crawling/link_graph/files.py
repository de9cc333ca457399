"""The files of a link graph, as its job writes them: each of its tables is a Parquet file.

What asks them (`crawling.link_graph.tables`) needs no SciPy, and so this is a module of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from crawling.link_graph.drawings import Drawing, Hosts, Lines, draw
from crawling.link_graph.edges import Edges, HostEdges
from crawling.link_graph.layout import positions
from crawling.link_graph.measures import components
from crawling.link_graph.steps import NOTHING, Step, arrays_of, merge_step, slice_file
from crawling.link_graph.tables import drawn_hosts
from crawling.links.parquet import put_query
from crawling.models import LinkGraph, Page
from crawling.scope.scope import domain_of
from crawling.storage import storage
from crawling.web.addresses import dns_name

#: pages whose addresses are in memory at a time
SLICE = 50_000
#: that are laid out in a step: two seconds of a processor at most
DRAWINGS = 20
#: stored as multiples of the mean
RANKS = ("pagerank", "hub", "authority")
#: the name of the lines between hosts by their places in the table, for the drawings
HOST_LINES = "host-lines"
NODE_COLUMNS = (
    *("drawing", "node", "kind", "name", "hosts", "pages"),
    *("in_links", "out_links", "opens", "x", "y", "joined"),
)
#: of each kind, the largest
MOST_COMPONENTS = 10_000
PAGES = """
SELECT page_id, url::VARCHAR AS url, split_part(split_part(url, '://', 2), '/', 1) AS host,
    in_links, out_links, pagerank, hub, authority, weak, strong
FROM given ORDER BY page_id
"""
HOSTS = """
SELECT given.host::VARCHAR AS host, domain::VARCHAR AS domain, suffix::VARCHAR AS suffix,
    coalesce(pages, 0) AS pages, in_links, out_links, inner_links, in_hosts, out_hosts,
    coalesce(pagerank, 0) AS pagerank, coalesce(hub, 0) AS hub,
    coalesce(authority, 0) AS authority, weak, strong
FROM given LEFT JOIN (
    SELECT host, count(*) AS pages, sum(pagerank) AS pagerank, sum(hub) AS hub,
        sum(authority) AS authority
    FROM read_parquet('{pages}') GROUP BY host
) AS own ON own.host = given.host
ORDER BY in_links + out_links DESC, given.host
"""
#: with the page of the highest rank
COMPONENTS = f"""
SELECT kind, number, size AS pages, pages.page_id, url FROM (
    SELECT 'weak' AS kind, weak AS number, count(*) AS size, arg_max(page_id, pagerank) AS page_id
    FROM read_parquet('{{pages}}') WHERE weak <= {MOST_COMPONENTS} GROUP BY weak
    UNION ALL
    SELECT 'strong', strong, count(*), arg_max(page_id, pagerank)
    FROM read_parquet('{{pages}}') WHERE strong <= {MOST_COMPONENTS} GROUP BY strong
) AS found JOIN read_parquet('{{pages}}') AS pages ON pages.page_id = found.page_id
WHERE size > 1 ORDER BY kind, number
"""  # noqa: S608 - constants

#: `opens`: the number of the drawing of its hosts, 0: of none; `joined`: pairs of nodes that are
#: joined in the whole drawing
DRAWN_NODES = """
SELECT drawing, node, kind::VARCHAR AS kind, name::VARCHAR AS name, hosts, pages, in_links,
    out_links, opens, x, y, joined
FROM given ORDER BY drawing, node
"""
DRAWN_LINES = """
SELECT drawing, ones AS one, others AS other, links FROM given ORDER BY drawing, links DESC
"""


def put_links(graph: LinkGraph, ids: np.ndarray, edges: Edges) -> None:
    """Store the links between pages, by their ids. Raises OSError."""
    given = {"source": ids[edges.sources], "target": ids[edges.targets]}
    put_query(graph.file("links"), "SELECT * FROM given", given)


def page_steps(
    graph: LinkGraph, ids: np.ndarray, edges: Edges, measures: Mapping[str, np.ndarray]
) -> Iterator[Step]:
    """Store the table of pages, SLICE of them at a time. Raises OSError.

    measures: as `crawling.link_graph.measures` gives them.
    """
    columns = {
        "page_id": ids,
        "in_links": np.bincount(edges.targets, minlength=edges.nodes),
        "out_links": np.bincount(edges.sources, minlength=edges.nodes),
        **measures,
    }
    for rank in RANKS:
        columns[rank] = measures[rank] * edges.nodes
    starts = range(0, max(edges.nodes, 1), SLICE)
    for number, at in enumerate(starts):
        file = slice_file(graph, "pages", number)
        given = {name: column[at : at + SLICE] for name, column in columns.items()}
        yield Step(file, partial(_put_pages, graph, file, given))
    yield merge_step(graph, "pages", len(starts))


def _put_pages(graph: LinkGraph, file: str, given: dict[str, np.ndarray]) -> None:
    put_query(file, PAGES, {**given, "url": _urls(graph, given["page_id"])})


def put_hosts(graph: LinkGraph, hosts: HostEdges) -> dict[str, np.ndarray]:
    """Store the table of hosts, the links between them, and the components of pages. Gives the
    arrays of HOST_LINES. Raises OSError.
    """
    edges, names = hosts.edges, np.array(hosts.names, dtype=object)
    domains = [domain_of(name) if (name := dns_name(host)) else "" for host in hosts.names]
    given = {
        "host": names,
        "domain": np.array(domains, dtype=object),
        "suffix": np.array([domain.rpartition(".")[2] for domain in domains], dtype=object),
        "in_links": np.bincount(edges.targets, hosts.links, edges.nodes).astype(np.int64),
        "out_links": np.bincount(edges.sources, hosts.links, edges.nodes).astype(np.int64),
        "inner_links": hosts.inner,
        "in_hosts": np.bincount(edges.targets, minlength=edges.nodes),
        "out_hosts": np.bincount(edges.sources, minlength=edges.nodes),
        **components(edges),
    }
    path = str(storage().path(graph.file("pages")))
    put_query(graph.file("hosts"), HOSTS.format(pages=path), given, reads=[path])
    joined = {
        "source": names[edges.sources],
        "target": names[edges.targets],
        "links": hosts.links,
    }
    query = "SELECT source::VARCHAR AS source, target::VARCHAR AS target, links FROM given"
    put_query(graph.file("host_links"), query, joined)
    put_query(graph.file("components"), COMPONENTS.format(pages=path), NOTHING, reads=[path])
    return _lines_by_table(graph, hosts)


def _lines_by_table(graph: LinkGraph, hosts: HostEdges) -> dict[str, np.ndarray]:
    numbers = {row[0]: number for number, row in enumerate(drawn_hosts(graph))}
    places = np.fromiter((numbers[name] for name in hosts.names), np.int64)
    edges = hosts.edges
    return {
        "ones": places[edges.sources],
        "others": places[edges.targets],
        "links": hosts.links,
    }


def drawing_steps(graph: LinkGraph) -> Iterator[Step]:
    """Store the drawings of the hosts, whose table is there already. Raises OSError."""
    rows = drawn_hosts(graph)
    names, domains, *counts = zip(*rows, strict=True) if rows else ([], [], [])
    lines = Lines(**arrays_of(graph, HOST_LINES))
    drawings = draw(Hosts(names, domains), range(len(names)), lines)
    number = 0
    while some := list(islice(drawings, DRAWINGS)):
        file = slice_file(graph, "drawn_lines", number)
        yield Step(file, partial(_put_drawings, graph, number, some, np.array(counts)))
        number += 1
    yield merge_step(graph, "drawn_nodes", number)
    yield merge_step(graph, "drawn_lines", number)


def _put_drawings(
    graph: LinkGraph, number: int, drawings: Iterable[Drawing], counts: np.ndarray
) -> None:
    """number: of the files; counts: of each host, pages, links to it and from it."""
    nodes: dict[str, list[Any]] = {name: [] for name in NODE_COLUMNS}
    drawn: dict[str, list[Any]] = defaultdict(list)
    for drawing in drawings:
        _add_nodes(nodes, drawing, counts)
        for name, values in vars(drawing.lines).items():
            drawn[name] += values.tolist()
        drawn["drawing"] += [drawing.number] * len(drawing.lines.links)
    put_query(slice_file(graph, "drawn_nodes", number), DRAWN_NODES, _arrays(nodes))
    put_query(slice_file(graph, "drawn_lines", number), DRAWN_LINES, _arrays(drawn))


def _add_nodes(columns: dict[str, list[Any]], drawing: Drawing, counts: np.ndarray) -> None:
    places = positions(len(drawing.nodes), drawing.lines)
    for number, (node, (x, y)) in enumerate(zip(drawing.nodes, places.tolist(), strict=True)):
        pages, in_links, out_links = counts[:, node.hosts].sum(axis=1).tolist()
        row = {"drawing": drawing.number, "node": number, "kind": node.kind, "name": node.name}
        row |= {"hosts": len(node.hosts), "pages": pages, "opens": node.opens or 0, "x": x, "y": y}
        row |= {"in_links": in_links, "out_links": out_links, "joined": drawing.joined}
        for name in NODE_COLUMNS:
            columns[name].append(row[name])


def _arrays(columns: Mapping[str, Sequence[Any]]) -> dict[str, np.ndarray]:
    """Texts as objects, as DuckDB takes them."""
    kinds = {"kind": object, "name": object, "x": float, "y": float}
    return {name: np.array(values, kinds.get(name, np.int64)) for name, values in columns.items()}


def _urls(graph: LinkGraph, ids: np.ndarray) -> np.ndarray:
    """The addresses of some pages, by their ids; of one that is gone by now it is empty."""
    if not len(ids):
        return np.empty(0, object)
    found = Page.objects.filter(run=graph.run_id, url__gte=int(ids[0]), url__lte=int(ids[-1]))
    urls = dict(found.values_list("url", "url__url"))
    return np.array([urls.get(pk, "") for pk in ids.tolist()], dtype=object)

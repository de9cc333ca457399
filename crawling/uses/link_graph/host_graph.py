"""The graph of hosts: the hosts of a run's pages, and hosts to which links lead.

Links between hosts are counted slice by slice. After that each host is a number, since there may be
millions of pairs. A pair takes 24 bytes of memory.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from crawling.base.storage import storage
from crawling.datasets.job_tables import JobTables
from crawling.datasets.parquet import duckdb_connection, put_query, rows_in
from crawling.datasets.query import columns_by_values
from crawling.models import Run
from crawling.uses.link_graph.drawings import Lines
from crawling.uses.link_graph.edges import LEADING, SECONDS, Edges, page_slices
from crawling.uses.link_graph.measures import KINDS, find_components
from crawling.uses.link_graph.steps import Step, arrays_step, merge_step, read_arrays, slice_file
from crawling.web.addresses import dns_name
from crawling.web.public_suffixes import domain_of

#: the most hosts; further hosts count as one host with an empty name
MOST_HOSTS = 300_000
#: the number of pairs whose names are in memory at a time
SLICE = 500_000
PAIRS = f"""
SELECT split_part(split_part(page, '://', 2), '/', 1) AS host, target_host, count(*) AS links
FROM links WHERE page_id BETWEEN $first AND $last AND {LEADING}
GROUP BY host, target_host
"""  # noqa: S608 - constants
GIVEN_PAIRS = """
SELECT host::VARCHAR AS host, target_host::VARCHAR AS target_host, links FROM given
"""
NAMES_IN = "SELECT host FROM '{pairs}' UNION SELECT target_host FROM '{pairs}' ORDER BY host"
NAMES = "SELECT number, host::VARCHAR AS host FROM given ORDER BY number"
#: a host without a number is one of those that count together as one
NUMBERED = """
WITH rest AS (SELECT max(number) AS number FROM '{names}' WHERE host = '')
SELECT coalesce(one.number, rest.number) << 32 | coalesce(other.number, rest.number) AS pair,
    sum(links)::BIGINT AS links
FROM '{pairs}' AS pairs CROSS JOIN rest
LEFT JOIN '{names}' AS one ON one.host = pairs.host
LEFT JOIN '{names}' AS other ON other.host = target_host
GROUP BY pair ORDER BY pair
"""
LINKS = """
SELECT one.host AS source, other.host AS target, links FROM given
JOIN '{names}' AS one ON one.number = given.source
JOIN '{names}' AS other ON other.number = given.target
ORDER BY given.source, given.target
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


@dataclass(frozen=True)
class HostEdges:
    edges: Edges
    #: the number of links that each edge stands for
    links: np.ndarray
    #: the number of links of each host to itself
    inner: np.ndarray


def host_steps(graph: JobTables, run: Run, nodes: np.ndarray) -> Generator[Step, None, Lines]:
    """Store the tables of hosts and of the links between them. The table of pages already exists.
    Return the lines between hosts, by the hosts' positions in the table. Raises
    LinkSearchTookTooLong or OSError.

    nodes: the result of node_steps.
    """
    files = yield from _pair_steps(graph, run, nodes)
    names_file = slice_file(graph, "names", 0)
    yield Step(names_file, partial(_put_names, graph, names_file, files))
    names = [name for (name,) in rows_in(names_file, ["host"])]
    hosts = yield from _edge_steps(graph, len(names), names_file, files)
    for kind in KINDS:
        yield arrays_step(graph, f"host-{kind}", partial(find_components, hosts.edges, kind))
    yield Step(graph.file("hosts"), partial(_put_hosts, graph, names, hosts))
    yield from _link_steps(graph, names_file, hosts)
    return _lines_by_table(graph, names, hosts)


def _pair_steps(
    graph: JobTables, run: Run, nodes: np.ndarray
) -> Generator[Step, None, Sequence[str]]:
    """Count the links between hosts, some pages at a time. Return the names of the files."""
    files = []
    for number, ends in enumerate(page_slices(nodes)):
        file = slice_file(graph, "pairs", number)
        yield Step(file, partial(_put_pairs, file, run, ends))
        files.append(file)
    return files


def _put_pairs(file: str, run: Run, ends: Mapping[str, int]) -> None:
    (found,) = columns_by_values(run, PAIRS, [ends], seconds=SECONDS)
    put_query(file, GIVEN_PAIRS, found)


def _put_names(graph: JobTables, names_file: str, files: Sequence[str]) -> None:
    """Store the numbers of hosts. Hosts of pages come first."""
    numbers: dict[str, int] = {}
    for host in page_hosts(graph):
        _number_host(numbers, host)
    for file in files:
        for host in _columns_of(NAMES_IN, pairs=file)["host"]:
            _number_host(numbers, host)
    given = {
        "number": np.arange(len(numbers)),
        "host": np.array(list(numbers), dtype=object),
    }
    put_query(names_file, NAMES, given)


def _number_host(numbers: dict[str, int], host: str) -> None:
    if host not in numbers and len(numbers) >= MOST_HOSTS:
        host = ""
    numbers.setdefault(host, len(numbers))


def _edge_steps(
    graph: JobTables, hosts: int, names_file: str, files: Sequence[str]
) -> Generator[Step, None, HostEdges]:
    for number, file in enumerate(files):
        columns = partial(_columns_of, NUMBERED, names=names_file, pairs=file)
        yield arrays_step(graph, f"numbered-{number:05}", columns)
    yield arrays_step(graph, "host-edges", partial(sum_pairs, graph, "numbered", len(files)))
    found = read_arrays(graph, "host-edges")
    sources, targets, links = found["pair"] >> 32, found["pair"] & 0xFFFFFFFF, found["links"]
    is_inner = sources == targets
    inner = np.zeros(hosts, np.int64)
    inner[sources[is_inner]] = links[is_inner]
    edges = Edges(hosts, sources[~is_inner].astype(np.int32), targets[~is_inner].astype(np.int32))
    return HostEdges(edges, links[~is_inner], inner)


def _columns_of(query: str, **files: str) -> dict[str, np.ndarray]:
    """The columns of a query over files, by their placeholders in the query."""
    paths = {word: str(storage().path(file)) for word, file in files.items()}
    with duckdb_connection(reads=sorted(paths.values())) as connection:
        return connection.execute(query.format(**paths)).fetchnumpy()


def sum_pairs(graph: JobTables, name: str, slices: int) -> dict[str, np.ndarray]:
    """The number of links for each pair, summed over all slices with this name."""
    found = [read_arrays(graph, f"{name}-{number:05}") for number in range(slices)]
    pairs, links = (
        np.concatenate([np.empty(0, np.int64), *(part[name] for part in found)])
        for name in ("pair", "links")
    )
    order = np.argsort(pairs, kind="stable")  # fast, since the pairs of each slice ascend
    pairs, links = pairs[order], links[order]
    starts = np.flatnonzero(np.diff(pairs, prepend=-1))
    return {"pair": pairs[starts], "links": np.add.reduceat(links, starts) if len(links) else links}


def _put_hosts(graph: JobTables, names: Sequence[str], hosts: HostEdges) -> None:
    edges = hosts.edges
    domains = [domain_of(name) if (name := dns_name(host)) else "" for host in names]
    given = {
        "host": np.array(names, dtype=object),
        "domain": np.array(domains, dtype=object),
        "suffix": np.array([domain.rpartition(".")[2] for domain in domains], dtype=object),
        "in_links": np.bincount(edges.targets, hosts.links, edges.nodes).astype(np.int64),
        "out_links": np.bincount(edges.sources, hosts.links, edges.nodes).astype(np.int64),
        "inner_links": hosts.inner,
        "in_hosts": np.bincount(edges.targets, minlength=edges.nodes),
        "out_hosts": np.bincount(edges.sources, minlength=edges.nodes),
        **{kind: read_arrays(graph, f"host-{kind}")[kind] for kind in KINDS},
    }
    path = str(storage().path(graph.file("pages")))
    put_query(graph.file("hosts"), HOSTS.format(pages=path), given, reads=[path])


def _link_steps(graph: JobTables, names_file: str, hosts: HostEdges) -> Iterator[Step]:
    """Store the table of links between hosts, SLICE pairs at a time."""
    columns = {
        "source": hosts.edges.sources,
        "target": hosts.edges.targets,
        "links": hosts.links,
    }
    names = str(storage().path(names_file))
    starts = range(0, max(len(hosts.links), 1), SLICE)
    for number, at in enumerate(starts):
        file = slice_file(graph, "host_links", number)
        given = {name: column[at : at + SLICE] for name, column in columns.items()}
        yield Step(file, partial(put_query, file, LINKS.format(names=names), given, reads=[names]))
    yield merge_step(graph, "host_links", len(starts))


def _lines_by_table(graph: JobTables, names: Sequence[str], hosts: HostEdges) -> Lines:
    numbers = {host.name: number for number, host in enumerate(drawn_hosts(graph))}
    places = np.fromiter((numbers[name] for name in names), np.int32)
    edges = hosts.edges
    return Lines(places[edges.sources], places[edges.targets], hosts.links)


def page_hosts(graph: JobTables) -> list[str]:
    """The hosts of a graph that has only its table of pages so far."""
    with graph.connected(["pages"]) as connection:
        rows = connection.execute("SELECT DISTINCT host FROM pages ORDER BY host").fetchall()
    return [host for (host,) in rows]


class DrawnHost(NamedTuple):
    name: str
    domain: str
    #: the number of its pages, and of the links to it and from it
    pages: int
    in_links: int
    out_links: int


def drawn_hosts(graph: JobTables) -> list[DrawnHost]:
    """The hosts of a graph without drawings, those with the most links first."""
    query = "SELECT host, domain, pages, in_links, out_links FROM hosts"
    with graph.connected(["hosts"]) as connection:
        return [DrawnHost(*row) for row in connection.execute(query).fetchall()]

"""The tables of pages, links and components of a link graph, which its job writes. Each is a
Parquet file.

They are read without SciPy (`crawling.datasets.job_tables`); this module needs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from crawling.base.storage import storage
from crawling.datasets.job_tables import JobTables
from crawling.datasets.parquet import put_query
from crawling.models import Page
from crawling.uses.link_graph.edges import SLICE_LINKS, Edges
from crawling.uses.link_graph.steps import NOTHING, Step, merge_step, slice_file

#: the number of pages whose addresses are in memory at a time
SLICE = 50_000
#: values that are stored as multiples of the mean
RANKS = ("pagerank", "hub", "authority")
#: the most components of each kind that are stored, the largest first
MOST_COMPONENTS = 10_000
PAGES = """
SELECT page_id, url::VARCHAR AS url, split_part(split_part(url, '://', 2), '/', 1) AS host,
    in_links, out_links, pagerank, hub, authority, weak, strong
FROM given ORDER BY page_id
"""
#: the components, each with its page of the highest rank
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


def link_steps(graph: JobTables, ids: np.ndarray, edges: Edges) -> Iterator[Step]:
    """Store the table of links between pages, by their ids, SLICE_LINKS of them at a time. Raises
    OSError.
    """
    starts = range(0, max(len(edges.sources), 1), SLICE_LINKS)
    for number, at in enumerate(starts):
        file, some = slice_file(graph, "links", number), slice(at, at + SLICE_LINKS)
        given = {"source": ids[edges.sources[some]], "target": ids[edges.targets[some]]}
        yield Step(file, partial(put_query, file, "SELECT * FROM given", given))
    yield merge_step(graph, "links", len(starts))


def page_steps(
    graph: JobTables, ids: np.ndarray, edges: Edges, measures: Mapping[str, np.ndarray]
) -> Iterator[Step]:
    """Store the table of pages, SLICE of them at a time. Raises OSError.

    measures: from `crawling.uses.link_graph.measures`.
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


def _put_pages(graph: JobTables, file: str, given: dict[str, np.ndarray]) -> None:
    put_query(file, PAGES, {**given, "url": _urls_of_pages(graph, given["page_id"])})


def component_step(graph: JobTables) -> Step:
    """Store the table of components. The table of pages already exists."""
    file, path = graph.file("components"), str(storage().path(graph.file("pages")))
    query = COMPONENTS.format(pages=path)
    return Step(file, lambda: put_query(file, query, NOTHING, reads=[path]))


def _urls_of_pages(graph: JobTables, ids: np.ndarray) -> np.ndarray:
    """The addresses of pages, by the pages' ids. The address of a deleted page is empty."""
    if not len(ids):
        return np.empty(0, object)
    found = Page.objects.filter(run=graph.job.run_id, url__gte=int(ids[0]), url__lte=int(ids[-1]))
    urls = dict(found.values_list("url", "url__url"))
    return np.array([urls.get(pk, "") for pk in ids.tolist()], dtype=object)

"""A link graph as files: its tables as CSV, JSON Lines and Parquet, and its nodes and edges as
GraphML.

GraphML: http://graphml.graphdrawing.org/specification.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from io import StringIO
from typing import Any
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

from crawling.datasets.job_tables import JobTables
from crawling.uses.link_graph.lists import LISTS
from serving.downloads import ENDINGS as OF_LISTS
from serving.downloads import Download

#: the words for each suffix of a file
ENDINGS = OF_LISTS | {"graphml": "GraphML"}
#: the tables with files, by the value of `show` on their page
SHOWN = ("pages", "hosts")
#: the table of edges for each of these, and the columns about an edge
EDGES = {
    "pages": ("SELECT source, target FROM links", ()),
    "hosts": ("SELECT source, target, links FROM host_links", ("links",)),
}
#: the types of attributes that are not text
NUMBERS = {"pagerank": "double", "hub": "double", "authority": "double"}
TEXTS = ("url", "host", "domain")
#: the number of characters that are written at a time
PIECE = 65_536


def graph_file(
    stem: str, graph: JobTables, shown: str, kind: str, wanted: Mapping[str, str]
) -> Download:
    """A file with the pages or the hosts of a graph (`shown`). kind: csv, jsonl, parquet or
    graphml.

    The filter `wanted` applies to csv and jsonl; parquet and graphml have everything. Raises
    ArchiveTrouble, BadListRequest or LinkSearchTookTooLong.
    """
    stem = f"{stem}-{shown}"
    if kind != "graphml":
        return graph.table_download(stem, shown, LISTS[shown], kind, wanted)
    graph.path(shown)
    return Download(f"{stem}.graphml", "application/xml", graphml_pieces(graph, shown))


def graphml_pieces(graph: JobTables, shown: str) -> Iterator[str]:
    """A node for each page or host, and an edge for each pair that links join."""
    columns = LISTS[shown].stored
    edges, of_edges = EDGES[shown]
    out = StringIO()
    xml = XMLGenerator(out, "utf-8", short_empty_elements=True)
    xml.startDocument()
    _begin_element(xml, "graphml", {"xmlns": "http://graphml.graphdrawing.org/xmlns"})
    for name, of in [*((name, "node") for name in columns[1:]), *((n, "edge") for n in of_edges)]:
        key = {"id": f"{of}-{name}", "for": of, "attr.name": name, "attr.type": _type_of(name)}
        _begin_element(xml, "key", key)
        xml.endElement("key")
    _begin_element(xml, "graph", {"edgedefault": "directed"})
    for row in LISTS[shown].each(graph.each, {}):
        _write_element(xml, "node", {"id": str(row[columns[0]])}, {n: row[n] for n in columns[1:]})
        yield from _take_pieces(out)
    for source, target, *facts in graph.each(edges):
        ends = {"source": str(source), "target": str(target)}
        _write_element(xml, "edge", ends, dict(zip(of_edges, facts, strict=True)))
        yield from _take_pieces(out)
    xml.endElement("graph")
    xml.endElement("graphml")
    yield out.getvalue()


def _type_of(name: str) -> str:
    return "string" if name in TEXTS else NUMBERS.get(name, "long")


def _begin_element(xml: XMLGenerator, element: str, attributes: Mapping[str, str]) -> None:
    xml.startElement(element, AttributesImpl(attributes))


def _write_element(
    xml: XMLGenerator, element: str, attributes: Mapping[str, str], facts: Mapping[str, Any]
) -> None:
    _begin_element(xml, element, attributes)
    for name, value in facts.items():
        _begin_element(xml, "data", {"key": f"{element}-{name}"})
        xml.characters(str(value))
        xml.endElement("data")
    xml.endElement(element)


def _take_pieces(out: StringIO, at_least: int = PIECE) -> Iterable[str]:
    """The written text, if it is long enough to be sent; otherwise nothing."""
    if out.tell() < at_least:
        return ()
    piece = out.getvalue()
    out.seek(0)
    out.truncate()
    return (piece,)

"""The data of pages for programs, as rows: their kinds, and their columns."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class DataKind(StrEnum):
    """Kinds of rows, in the order in which they are read from a page."""

    METADATA = "metadata"
    JSON_LD = "json-ld"
    MICRODATA = "microdata"
    RDFA = "rdfa"
    MICROFORMATS = "microformats"
    OPEN_GRAPH = "open-graph"
    DUBLIN_CORE = "dublin-core"
    FEED = "feed"
    ENTRY = "entry"
    EMAIL = "email"
    PHONE = "phone"
    TABLE = "table"
    IMAGE = "image"
    PROBLEM = "problem"

    @property
    def label(self) -> str:
        return LABELS[self]


LABELS = {
    DataKind.METADATA: "Metadata",
    DataKind.JSON_LD: "JSON-LD",
    DataKind.MICRODATA: "Microdata",
    DataKind.RDFA: "RDFa",
    DataKind.MICROFORMATS: "Microformats",
    DataKind.OPEN_GRAPH: "Open Graph",
    DataKind.DUBLIN_CORE: "Dublin Core",
    DataKind.FEED: "Feeds",
    DataKind.ENTRY: "Feed entries",
    DataKind.EMAIL: "E-mail addresses",
    DataKind.PHONE: "Phone numbers",
    DataKind.TABLE: "Tables",
    DataKind.IMAGE: "Images",
    DataKind.PROBLEM: "Problems",
}


class DataRow(NamedTuple):
    kind: DataKind
    #: Items have their types here; an image has `described`, `decorative` or `no text`, a contact
    #: its place, a feed its media type, an entry the kind of its feed, and a problem the kind of
    #: data that it is about.
    type: str = ""
    #: the name of metadata, properties and items; the title of an entry; the text of an image; the
    #: caption of a table
    name: str = ""
    #: JSON for an item and an entry
    value: str = ""
    #: the width of an image as the page declares it, or the number of a table's columns; 0 if the
    #: page declares none
    width: int = 0
    height: int = 0
    is_cut: bool = False

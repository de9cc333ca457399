"""The data of pages for programs, as rows: their kinds, and their columns."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class DataKind(StrEnum):
    """Kinds of rows, in the order in which a page's are read."""

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
    #: of an item its types; of an image `described`, `decorative` or `no text`; of a contact where
    #: it stands; of a feed its media type; of an entry the kind of its feed; of a problem the kind
    #: that it is about
    type: str = ""
    #: of metadata and properties theirs; of an item its name; of an entry its title; of an image
    #: its text; of a table its caption
    name: str = ""
    #: of an item and an entry JSON
    value: str = ""
    #: of an image as the page declares it, of a table its columns and rows; 0: not declared
    width: int = 0
    height: int = 0
    is_cut: bool = False

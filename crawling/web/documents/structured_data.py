"""The data of an HTML page for programs, and data that programs look for in it, as rows. The kinds
are items of JSON-LD, microdata, RDFa and microformats, Open Graph and Dublin Core, facts about the
page, feeds, e-mail addresses, phone numbers, tables and images. Data that were not read or not
stored get a row, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

import turbohtml
from turbohtml.clean import LinkDetector, PhoneNumbers

from crawling.web.documents.html_text import PageText
from crawling.web.documents.markup import attribute_text, text_of
from crawling.web.documents.structured_items import (
    FoundItem,
    json_ld_items,
    microdata_items,
    rdfa_items,
)
from crawling.web.feed_entries import FeedEntry
from crawling.web.links import Links
from crawling.web.structured_rows import DataKind, DataRow

#: the most rows of a kind, and the most characters of a value, a name and a page; a row has a mark
#: if it was cut
MOST_ROWS = 500
MOST_VALUE = 16 * 1024
MOST_NAME = 500
MOST_CHARACTERS = 96 * 1024
#: the most elements that are examined
MOST_METAS = 2_000
MOST_CONTACT_LINKS = 2_000
#: an image with larger sizes has them by mistake
MOST_PIXELS = 100_000
#: the number of problems of a kind that are listed
MOST_PROBLEMS = 5
#: numbers without a country code could be anything, so only numbers with one are found
CONTACTS = LinkDetector(bare_domains=False, phones=PhoneNumbers())
CONTACT_LINKS = 'a[href^="mailto:" i], a[href^="tel:" i]'
#: the names of `meta` elements for each fact; the first that a page has counts
META = {
    "description": ("description", "og:description", "twitter:description", "dc.description"),
    "author": ("author", "article:author", "dc.creator", "parsely-author", "sailthru.author"),
    "published": (
        *("article:published_time", "datepublished", "date", "dc.date", "dc.date.issued"),
        *("dcterms.created", "dcterms.issued", "pubdate", "publishdate", "publish_date"),
    ),
    "modified": (
        *("article:modified_time", "og:updated_time", "datemodified", "last-modified"),
        *("dcterms.modified", "dc.date.modified", "revised"),
    ),
    "site name": ("og:site_name", "application-name"),
    "keywords": ("keywords", "news_keywords"),
    "generator": ("generator",),
}
#: the properties of microdata and JSON-LD items that state these facts
IN_ITEMS = {"author": "author", "published": "datePublished", "modified": "dateModified"}
IN_MICROFORMATS = {"author": "author", "published": "published", "modified": "updated"}
FEEDS = ("application/rss+xml", "application/atom+xml", "application/feed+json")


class StructuredDataReader:
    """Reads one page. Call `read` before the page's tree is taken apart, then the other methods."""

    def __init__(self, url: str) -> None:
        self.rows: list[DataRow] = []
        #: the base of the page's relative URLs
        self.base = url
        self._url = url
        self._characters = 0
        self._seen: set[tuple[DataKind, str]] = set()

    def read(self, document: turbohtml.Document) -> None:
        """Read a tree, which stays unchanged."""
        stated = document.base_url() if document.find_all("base") else ""
        links = Links(self._url, base=stated or "")
        self.base = base = links.target_of("./") or self._url
        told, title = _meta_texts(document), document.find("title")
        items = {
            DataKind.JSON_LD: list(islice(json_ld_items(document), MOST_ROWS + 1)),
            DataKind.MICRODATA: list(microdata_items(document, base)),
            DataKind.RDFA: list(rdfa_items(document, base)),
        }
        found = [item for each in items.values() for item in each if not item.problem]
        self._keep_rows(DataKind.METADATA, _metadata_rows(told, found, title.text if title else ""))
        for kind, each in items.items():
            self._take_items(kind, each)
        shared = (DataRow(DataKind.OPEN_GRAPH, name=name, value=told[name]) for name in told)
        self._keep_rows(
            DataKind.OPEN_GRAPH,
            (row for row in shared if row.name.startswith(("og:", "article:", "twitter:"))),
        )
        core = document.dublin_core().items()
        self._keep_rows(
            DataKind.DUBLIN_CORE,
            (DataRow(DataKind.DUBLIN_CORE, name=name, value=value) for name, value in core),
        )
        self._keep_rows(DataKind.FEED, _feed_rows(document, links.target_of))
        self._take_contacts(_linked_contact_rows(document))
        self._keep_rows(DataKind.TABLE, map(_table_row, document.find_all("table")))
        self._keep_rows(DataKind.IMAGE, _image_rows(document, links.target_of))

    def read_microformats(self, items: Iterable[FoundItem]) -> None:
        """Take in the microformats of the page, and facts in them that nothing else states."""
        found = list(items)
        self._take_items(DataKind.MICROFORMATS, found)
        known = {row.name for row in self.rows if row.kind == DataKind.METADATA}
        said = _stated_texts([item for item in found if not item.problem], IN_MICROFORMATS)
        facts = [
            DataRow(DataKind.METADATA, name=name, value=value)
            for name, value in said.items()
            if name not in known
        ]
        self._keep_rows(DataKind.METADATA, facts)

    def read_feed(self, kind: str, entries: Iterable[FeedEntry]) -> None:
        """Take in the entries of a document that is itself a feed. kind: rss, rdf, atom or json."""
        self._keep_rows(DataKind.ENTRY, (_entry_row(kind, entry) for entry in entries))

    def read_text(self, text: PageText, language: str) -> None:
        """Read the text of the same page. language: its code, found by the letters of the text."""
        length = DataRow(DataKind.METADATA, name="text length", value=str(len(text.text)))
        stated = DataRow(DataKind.METADATA, name="detected language", value=language)
        self._keep_rows(DataKind.METADATA, [length, *([stated] if language else [])])
        self._take_contacts(_contact_rows_in_text(f"{text.text}\n{text.around}"))

    def _take_items(self, kind: DataKind, items: Iterable[FoundItem]) -> None:
        problems = [item.problem for item in items if item.problem]
        self._keep_rows(kind, (_item_row(kind, item) for item in items if not item.problem))
        for problem in problems[:MOST_PROBLEMS]:
            self._add_problem(kind, problem)
        if (more := len(problems) - MOST_PROBLEMS) > 0:
            self._add_problem(
                kind, f"{more:,} more {'problem is' if more == 1 else 'problems are'} not told."
            )

    def _take_contacts(self, contacts: Iterable[DataRow]) -> None:
        """Take in each address and number once; its first place counts."""
        rows: dict[DataKind, list[DataRow]] = {DataKind.EMAIL: [], DataKind.PHONE: []}
        for row in contacts:
            if (row.kind, row.value) not in self._seen:
                self._seen.add((row.kind, row.value))
                rows[row.kind].append(row)
        for kind, found in rows.items():
            self._keep_rows(kind, found)

    def _keep_rows(self, kind: DataKind, rows: Iterable[DataRow]) -> None:
        """Keep the rows of a kind up to the limits, and add a row if there are more."""
        for number, row in enumerate(map(_cut_row, rows)):
            length = sum(map(len, (row.type, row.name, row.value)))
            if number >= MOST_ROWS or self._characters + length > MOST_CHARACTERS:
                self._add_problem(kind, f"Only the first {number:,} are kept.")
                return
            self._characters += length
            self.rows.append(row)

    def _add_problem(self, kind: DataKind, problem: str) -> None:
        self.rows.append(_cut_row(DataRow(DataKind.PROBLEM, type=kind, value=problem)))


def _cut_row(row: DataRow) -> DataRow:
    """The row, cut to texts that a database can store."""
    kind, name, value = row.type[:MOST_NAME], row.name[:MOST_NAME], row.value[:MOST_VALUE]
    is_cut = (kind, name, value) != (row.type, row.name, row.value)
    kind, name, value = map(_storable_text, (kind, name, value))
    return row._replace(type=kind, name=name, value=value, is_cut=is_cut)


def _storable_text(text: str) -> str:
    """The text without lone surrogates, which JSON can write but UTF-8 cannot."""
    return text.encode(errors="replace").decode().replace("\0", "")


def _bounded_line(text: str | None) -> str:
    return " ".join((text or "")[: 4 * MOST_VALUE].split())


def _item_row(kind: DataKind, item: FoundItem) -> DataRow:
    try:
        value = json.dumps(item.value, ensure_ascii=False)
    except RecursionError:
        return DataRow(kind, item.type, _bounded_line(item.name), "", is_cut=True)
    return DataRow(kind, item.type, _bounded_line(item.name), value)


def _entry_row(kind: str, entry: FeedEntry) -> DataRow:
    said = {name: value for name, value in entry._asdict().items() if value and name != "title"}
    return DataRow(DataKind.ENTRY, kind, entry.title, json.dumps(said, ensure_ascii=False))


def _meta_texts(document: turbohtml.Document) -> dict[str, str]:
    """The texts of `meta` elements, by name in lower case. Of several elements with one name, the
    first with a text counts.
    """
    told: dict[str, str] = {}
    for meta in document.find_all("meta")[:MOST_METAS]:
        name = (
            attribute_text(meta, "property")
            or attribute_text(meta, "name")
            or attribute_text(meta, "itemprop")
        )
        content = _bounded_line(attribute_text(meta, "content"))
        if name and content:
            told.setdefault(name.strip().lower(), content)
    return told


def _metadata_rows(
    told: Mapping[str, str], items: Sequence[FoundItem], title: str
) -> Iterator[DataRow]:
    said = {"title": _bounded_line(title)}
    for name, metas in META.items():
        said[name] = next((told[meta] for meta in metas if meta in told), "")
    for name, value in _stated_texts(items, IN_ITEMS).items():
        said[name] = said[name] or value
    return (
        DataRow(DataKind.METADATA, name=name, value=value) for name, value in said.items() if value
    )


def _stated_texts(items: Sequence[FoundItem], names: Mapping[str, str]) -> dict[str, str]:
    """Facts by their names, each from the first item that has it. names: for each fact, the names
    of properties.
    """
    found = {
        name: next(filter(None, (_property_text(item, of_item) for item in items)), "")
        for name, of_item in names.items()
    }
    return {name: value for name, value in found.items() if value}


def _property_text(item: FoundItem, name: str) -> str:
    """A property of an item as text. For persons, their names."""
    found = item.value.get(name) or item.value.get(f"https://schema.org/{name}")
    found = found or item.value.get(f"http://schema.org/{name}")
    values = found if isinstance(found, list) else [found]
    names = (value.get("name") if isinstance(value, dict) else value for value in values)
    return ", ".join(islice((_bounded_line(text) for text in names if isinstance(text, str)), 20))


def _feed_rows(document: turbohtml.Document, target_of: Callable[[str], str]) -> Iterator[DataRow]:
    for link in document.find_all("link"):
        kind, relations = (
            attribute_text(link, "type").lower(),
            attribute_text(link, "rel").lower().split(),
        )
        media = kind.partition(";")[0].strip()
        if ("alternate" in relations and media in FEEDS) or "feed" in relations:
            address = target_of(attribute_text(link, "href"))
            if address:
                yield DataRow(
                    DataKind.FEED, media, _bounded_line(attribute_text(link, "title")), address
                )


def _linked_contact_rows(document: turbohtml.Document) -> Iterator[DataRow]:
    """The contacts of links that begin with `mailto:` and `tel:`."""
    for link in document.select(CONTACT_LINKS)[:MOST_CONTACT_LINKS]:
        scheme, _, rest = attribute_text(link, "href")[: 2 * MOST_NAME].partition(":")
        for span in CONTACTS.find(f"{scheme.lower()}:{rest.partition('?')[0]}"):
            yield from _contact_rows(span.text, span.url, "link")


def _contact_rows_in_text(text: str) -> Iterator[DataRow]:
    for span in CONTACTS.find(text, unique=True):
        yield from _contact_rows(span.text, span.url, "text")


def _contact_rows(written: str, url: str, place: str) -> Iterator[DataRow]:
    """The contact in a link. url: its scheme is `mailto` or `tel`; other schemes give no
    contact.
    """
    scheme, _, rest = url.partition(":")
    if scheme == "mailto":
        yield DataRow(DataKind.EMAIL, place, value=rest.partition("?")[0].lower())
    elif scheme == "tel":
        yield DataRow(DataKind.PHONE, place, name=_bounded_line(written), value=rest)


def _table_row(table: turbohtml.Element) -> DataRow:
    """The table's caption and size, not counting the rows of tables within it."""
    caption, rows, columns = "", 0, 0
    for part in _child_elements(table):
        if part.tag == "caption":
            caption = caption or _bounded_line(text_of(part))
        for row in [part] if part.tag == "tr" else _child_elements(part):
            if row.tag == "tr":
                cells = sum(child.tag in ("td", "th") for child in _child_elements(row))
                rows, columns = rows + 1, max(columns, cells)
    return DataRow(DataKind.TABLE, name=caption, width=columns, height=rows)


def _child_elements(element: turbohtml.Element) -> Iterator[turbohtml.Element]:
    return (child for child in element.children if isinstance(child, turbohtml.Element))


def _image_rows(document: turbohtml.Document, target_of: Callable[[str], str]) -> Iterator[DataRow]:
    """The images of a document: each address with each of its texts once."""
    seen: set[tuple[str, str]] = set()
    for image in document.find_all("img"):
        source = attribute_text(image, "src").strip()
        address = source if source.startswith("data:") else target_of(source) if source else ""
        text = _bounded_line(attribute_text(image, "alt"))
        kind = "described" if text else "decorative" if "alt" in image.attrs else "no text"
        if address and (address, kind + text) not in seen:
            seen.add((address, kind + text))
            address = address.partition(",")[0] if address.startswith("data:") else address
            size = _stated_pixels(image, "width"), _stated_pixels(image, "height")
            yield DataRow(DataKind.IMAGE, kind, text, address, *size)


def _stated_pixels(image: turbohtml.Element, name: str) -> int:
    written = attribute_text(image, name).strip()[:10].removesuffix("px")
    is_number = written.isascii() and written.isdigit()
    return int(written) if is_number and int(written) <= MOST_PIXELS else 0

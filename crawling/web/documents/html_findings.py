"""The findings of a second reading of an HTML document: the places that a fragment can name, the
errors of its markup, and misspelt links, which lead nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import NamedTuple

import turbohtml

from crawling.web.documents.written_links import written_urls
from crawling.web.links import MOST_LINKS, Links, faults_with_counts

#: the most ids of a page, and the length of the longest fragment
MOST_IDS = 20_000
MOST_ID = 500


class HtmlFindings(NamedTuple):
    ids: frozenset[str]
    #: errors by their names in the HTML Standard, with their number and the line of the first
    errors: Mapping[str, tuple[int, int]]


def find_in_html(document: turbohtml.Document) -> HtmlFindings:
    elements = [(element, "id") for element in document.select("[id]")[:MOST_IDS]]
    elements += [(element, "name") for element in document.select("a[name]")[:MOST_IDS]]
    names = {(element.attr(attribute) or "")[:MOST_ID] for element, attribute in elements}
    errors: dict[str, tuple[int, int]] = {}
    for error in document.errors:
        count, line = errors.get(error.code, (0, error.line))
        errors[error.code] = (count + 1, line)
    return HtmlFindings(frozenset(name.replace("\0", "") for name in names), errors)


def bad_links(document: turbohtml.Document, links: Links) -> dict[str, int]:
    """The faults of links that cannot be followed, as `faults_with_counts` gives them.

    links: has the document's base.
    """
    return faults_with_counts(islice(written_urls(document), MOST_LINKS), links.fault_of)

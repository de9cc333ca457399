"""Microformats of pages (https://microformats.org/wiki/microformats2-parsing): elements whose
classes say what they describe, in the current form and in the older one. This module finds their
places in a page; a separate program with limits reads their content.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

import turbohtml

from crawling.machine.sandbox import SandboxLimits, TaskSandbox
from crawling.web.documents.markup import attribute_text
from crawling.web.documents.structured_items import FoundItem, first_text

PROGRAM = "crawling.datasets.microformats_program"
LIMITS = SandboxLimits(
    memory_bytes=80 * 1024 * 1024,  # the program's own code takes 26 MB of this
    cpu_seconds=2,  # a long article of 150 KB takes 0.6 s
    seconds=4.0,  # a process that waits for the memory must get it within 5 s
    output_bytes=4 * 1024 * 1024,
)
ROOT = re.compile(r"h-(?:[a-z0-9]+-)?[a-z]+(?:-[a-z]+)*")
#: root names of the older form, from before 2010: hCard, hCalendar, hAtom and so on
CLASSIC_ROOTS = frozenset(
    {
        *("adr", "geo", "hentry", "hfeed", "hproduct", "hrecipe", "hresume", "hreview"),
        *("hreview-aggregate", "vcard", "vevent"),
    }
)
#: classes for heights in style sheets (Tailwind's utilities), which no page uses as microformats
HEIGHTS = frozenset(
    f"h-{name}"
    for name in (
        *("auto", "dvh", "dvw", "fit", "full", "lh", "lvh", "lvw", "max", "min", "px", "screen"),
        *("svh", "svw"),
    )
)
CANDIDATES = ", ".join(["[class*='h-']", *(f".{name}" for name in sorted(CLASSIC_ROOTS))])
#: the most characters of a page's roots with their content; after parsing, each takes 200 bytes
MOST_MARKUP = 256 * 1024


class MicroformatsReader(TaskSandbox):
    """Reads pages by a program. The program is started for the first page with microformats."""

    def __init__(self) -> None:
        super().__init__(PROGRAM, limits=LIMITS)

    def items(self, document: turbohtml.Document, base: str) -> list[FoundItem]:
        """The items that are not a property of another item. base: the base of relative URLs."""
        html, left_out = root_markup(document)
        found = []
        if left_out:
            found.append(FoundItem(problem=f"{left_out:,} items were not read: they are too long."))
        if html:
            content = html.encode(errors="replace")
            task = {"base": base, "size": len(content)}
            answer = self.answer(task, [content])
            if answer is None:
                told = "Items were not read: they took too much time or memory."
                found.append(FoundItem(problem=told))
            else:
                found += _items_in_answer(answer)
        return found


def _items_in_answer(answer: bytes) -> list[FoundItem]:
    told = json.loads(answer)
    items = [FoundItem(item["@type"], first_text(item, ("name",)), item) for item in told["items"]]
    return [*items, *([FoundItem(problem=told["problem"])] if told["problem"] else [])]


class RootMarkup(NamedTuple):
    """The outermost roots of a page, as HTML, and the number of roots left out for lack of
    space.
    """

    html: str
    left_out: int


def root_markup(document: turbohtml.Document) -> RootMarkup:
    """The outermost roots of a page. Takes time in proportion to the document."""
    html: list[str] = []
    length = left_out = place = 0
    found = document.select(CANDIDATES)
    while place < len(found):
        element = found[place]
        place += 1
        if not any(map(is_root_class, attribute_text(element, "class").split())):
            continue
        place += len(element.select(CANDIDATES))  # the roots within this element follow it
        text = element.html
        if length + len(text) > MOST_MARKUP:
            left_out += 1
            continue
        length += len(text)
        html.append(text)
    return RootMarkup("".join(html), left_out)


def is_root_class(name: str) -> bool:
    return name in CLASSIC_ROOTS or (bool(ROOT.fullmatch(name)) and name not in HEIGHTS)

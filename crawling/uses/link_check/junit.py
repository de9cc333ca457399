"""Problems as a JUnit report, which CI servers read: a suite for each kind, and a failed case for
each problem, under the page that is to be mended.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any
from xml.sax.saxutils import quoteattr

#: XML 1.0 has no place for these
NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_lines(kinds: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """rows: those of `problem_rows`, by kinds. A kind without any has a case that passed."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="link check">\n'
    by_kind, clean = groupby(rows, lambda row: row["kind"]), list(kinds)
    for kind, problems in by_kind:
        while clean and (first := clean.pop(0)) != kind:
            yield _clean(first)
        yield f"<testsuite name={_attribute(kind)}>\n"
        yield from map(_case, problems)
        yield "</testsuite>\n"
    yield from map(_clean, clean)
    yield "</testsuites>\n"


def _clean(kind: str) -> str:
    name = _attribute(kind)
    return f'<testsuite name={name}><testcase classname="all pages" name={name}/></testsuite>\n'


def _case(row: Mapping[str, Any]) -> str:
    page = _attribute(row["page"] or row["url"])
    anchor = row["anchor"] and f"“{row['anchor']}”"
    name = _attribute(" ".join(filter(None, (row["url"], anchor))))
    failure = f"<failure type={_attribute(row['kind'])} message={_attribute(row['detail'])}/>"
    return f"<testcase classname={page} name={name}>{failure}</testcase>\n"


def _attribute(text: str) -> str:
    return quoteattr(NO_XML.sub("\ufffd", text))

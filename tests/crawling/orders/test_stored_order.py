"""A crawl's order is read from its row by the names of fields that there are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawling.models import CrawlJob
from crawling.orders.order import PARTS
from crawling.orders.sections.fetching import FetchingPart
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.fetching_section import fetching_column
from crawling.web.secret_headers import MASK
from crawlsite.env import BASE_DIR
from tests.test_line_lengths import TEMPLATES

COLUMNS = {**PARTS, "fetching": FetchingPart}
#: it masks and seals secrets, and what it stores for that is no field of an order
SEALING = BASE_DIR / "crawling/runs/crawls/fetching_section.py"
IN_TEMPLATES = re.compile(rf"\b(?:crawl|job)\.(order\.)?({'|'.join(COLUMNS)})\.(\w+)")


@pytest.mark.parametrize("column", COLUMNS)
def test_a_row_that_is_older_than_a_field_has_its_default(column):
    assert getattr(CrawlJob().order, column) == COLUMNS[column]()


@pytest.mark.parametrize("column", COLUMNS)
def test_a_row_may_have_a_field_that_is_gone(column):
    crawl = CrawlJob(**{column: {"gone": 1}})

    assert getattr(crawl.order, column) == COLUMNS[column]()


def test_a_row_may_be_older_than_a_rule_on_a_field():
    crawl = CrawlJob(filters={"exclude": ["("]}, budget={"soft_pages": -1})

    assert crawl.order.filters.exclude == ["("]
    assert crawl.order.budget.soft == (-1, None, None)


def test_masked_secrets_are_read_as_they_are_shown():
    crawl = CrawlJob(fetching=fetching_column(FetchingPart(headers={"X-Key": "hunter2"}), {}))

    assert crawl.order.fetching.headers == {"X-Key": MASK}
    assert crawl.order.fetching.shows_itself


def test_an_edit_is_read_at_once(order):
    crawl = create_crawl(order("http://127.0.0.1:9/", visits_a_day=3))
    stored = crawl.order
    assert stored.reuse.visits_a_day == 3

    crawl.reuse["visits_a_day"] = 5
    assert stored.reuse.visits_a_day == 5
    crawl.reuse = {**crawl.reuse, "visits_a_day": 7}
    assert stored.reuse.visits_a_day == 7
    CrawlJob.objects.update(reuse={"visits_a_day": 9})
    crawl.refresh_from_db()
    assert stored.reuse.visits_a_day == 9


@pytest.mark.parametrize(
    "code",
    [
        'crawl.reuse.get("visits")',
        'run.crawl.budget["host_pages"]',
        'run, asked = run, crawl.filters\nasked.get("skip")',
        "ThresholdsPart(**run.crawl.thresholds)",
        "OrderingPart.model_validate(crawl.ordering)",
    ],
)
def test_a_read_of_a_column_by_text_is_found(code):
    assert [*reads_by_text(ast.parse(code))]


def test_no_code_reads_a_column_of_an_order_by_text():
    paths = [
        path
        for path in (BASE_DIR / "crawling").rglob("*.py")
        if "migrations" not in path.parts and path != SEALING
    ]

    found = {
        path.relative_to(BASE_DIR): lines
        for path in paths
        if (lines := lines_that_read_by_text(path))
    }

    assert paths
    assert found == {}


def lines_that_read_by_text(path: Path) -> list[int]:
    text = path.read_text()
    if not any(f".{column}" in text for column in COLUMNS):
        return []  # to parse all modules takes seconds
    return [*reads_by_text(ast.parse(text))]


def reads_by_text(tree: ast.AST) -> Iterator[int]:
    """The lines where a column, or a name for one, is asked for an entry or made a part of."""
    names = set(names_of_columns(tree))

    def is_column(node: ast.AST) -> bool:
        is_named = isinstance(node, ast.Name) and node.id in names
        return is_named or names_a_column(node)

    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=asked) if is_column(asked):
                yield node.lineno
            case ast.Call(func=ast.Attribute(value=asked, attr="get")) if is_column(asked):
                yield node.lineno
            case ast.Call(func=ast.Attribute(attr="model_validate"), args=[asked]) if is_column(
                asked
            ):
                yield node.lineno
            case ast.Call(keywords=keywords):
                yield from (
                    node.lineno for one in keywords if one.arg is None and is_column(one.value)
                )


def names_of_columns(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if names_a_column(value):
                yield name
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                for target, value in zip(targets, values, strict=True):
                    if isinstance(target, ast.Name) and names_a_column(value):
                        yield target.id


def names_a_column(node: ast.AST) -> bool:
    """`crawl.reuse`, but not `crawl.order.reuse`."""
    match node:
        case ast.Attribute(value=ast.Attribute(attr="order")):
            return False
        case ast.Attribute(attr=attr):
            return attr in COLUMNS
    return False


def test_templates_name_fields_that_an_order_has():
    found = [
        (path.name, *match.groups())
        for path in TEMPLATES
        for match in IN_TEMPLATES.finditer(path.read_text())
    ]

    assert found
    unknown = [one for one in found if not one[1] or not _has_field(COLUMNS[one[2]], one[3])]
    assert unknown == []


def _has_field(part, name):
    return name in part.model_fields or isinstance(getattr(part, name, None), property)

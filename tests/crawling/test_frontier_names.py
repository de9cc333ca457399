"""The page of the frontier has the names that other rooms need most, and loads nothing else."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import crawling.frontier

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "crawling/frontier/__init__.py"
MODULES = {
    name: f"crawling.frontier.{module}"
    for module, names in crawling.frontier.NAMES.items()
    for name in names
}


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """The module and the name of each import of a name from a module of the frontier."""
    text = path.read_text()
    if "crawling.frontier." not in text:
        return  # to parse all modules takes seconds
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            yield from ((str(node.module), name.name) for name in node.names)


def test_each_name_is_typed_as_what_is_loaded():
    typed = {
        name: module for module, name in imports(PAGE) if module.startswith("crawling.frontier.")
    }

    assert typed == MODULES


@pytest.mark.parametrize("name", MODULES)
def test_each_name_is_that_of_its_module(name):
    assert getattr(crawling.frontier, name) is getattr(sys.modules[MODULES[name]], name)


def test_a_name_that_the_page_has_not_is_an_error():
    with pytest.raises(AttributeError, match="has no attribute 'fetch'"):
        _ = crawling.frontier.fetch


def test_other_rooms_import_the_names_of_the_page_from_it():
    around = {
        f"{path.relative_to(ROOT)}: {name}"
        for room in (
            "allocation",
            "benchmarks",
            "crawling",
            "crawlsite",
            "dnscache",
            "experiments",
            "serving",
        )
        for path in (ROOT / room).rglob("*.py")
        if not path.is_relative_to(PAGE.parent)
        for module, name in imports(path)
        if MODULES.get(name) == module
    }

    assert around == set()


def test_to_import_pure_rules_loads_neither_django_nor_the_rest_of_the_frontier():
    look = (
        "import crawling.frontier.rules.hosts, sys;"
        "print(*(name for name in sys.modules if name.startswith(('django', 'crawling.frontier'))))"
    )

    loaded = subprocess.run(
        [sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert set(loaded.stdout.split()) == {
        "crawling.frontier",
        "crawling.frontier.rules",
        "crawling.frontier.rules.hosts",
    }

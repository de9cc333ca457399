"""Folders stay small enough to be read, and each says what it is for."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from crawlsite.env import BASE_DIR
from tests.conftest import LONG, SLOW_PLACES

PACKAGES = ("allocation", "crawling", "crawlsite", "dnscache", "experiments", "serving")
TESTS, MAKEFILE = BASE_DIR / "tests", BASE_DIR / "Makefile"
MOST_FILES = 25
MOST_AT_THE_TOP_OF_CRAWLING = 12
MOST_SIBLINGS = 3
MOST_LINES = 400
#: of a class of the rooms that fetch; models, orders and schemas have those of their tables
MOST_FIELDS = 12
FETCHING = ("crawling/web", "crawling/fetching/pipeline", "crawling/fetching/shift")


def contracts() -> list[dict[str, Any]]:
    """The contracts of imports."""
    settings = tomllib.loads((BASE_DIR / "pyproject.toml").read_text())
    return settings["tool"]["importlinter"]["contracts"]


def modules(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.py"))


@pytest.mark.parametrize("package", [*PACKAGES, "tests"])
def test_no_folder_has_more_files_than_a_reader_keeps_in_mind(package):
    folders = [
        BASE_DIR / package,
        *(path for path in (BASE_DIR / package).rglob("*") if path.is_dir()),
    ]

    # Migrations are a history, which only grows.
    full = {
        folder.relative_to(BASE_DIR): len(modules(folder))
        for folder in folders
        if folder.name != "migrations"
    }

    assert {folder: count for folder, count in full.items() if count > MOST_FILES} == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_is_longer_than_one_idea(package):
    lines = {
        path.relative_to(BASE_DIR): path.read_text().count("\n")
        for path in (BASE_DIR / package).rglob("*.py")
        if "migrations" not in path.parts
    }

    assert {path: count for path, count in lines.items() if count > MOST_LINES} == {}


@pytest.mark.parametrize("room", FETCHING)
def test_no_class_of_those_that_fetch_has_more_fields_than_a_reader_keeps_in_mind(room):
    fields = {
        f"{path.stem}.{node.name}": len(fields_of(node))
        for path in (BASE_DIR / room).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    }

    assert {name: count for name, count in fields.items() if count > MOST_FIELDS} == {}


def fields_of(node: ast.ClassDef) -> set[str]:
    """The names that a class declares, and those that its methods assign to `self`."""
    declared = {
        field.target.id
        for field in node.body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
    }
    assigned = {
        field.attr
        for field in ast.walk(node)
        if isinstance(field, ast.Attribute)
        and isinstance(field.ctx, ast.Store)
        and isinstance(field.value, ast.Name)
        and field.value.id == "self"
    }
    return declared | assigned


def test_what_all_rooms_of_the_crawler_share_is_little():
    assert len(modules(BASE_DIR / "crawling")) <= MOST_AT_THE_TOP_OF_CRAWLING


@pytest.mark.parametrize("package", PACKAGES)
def test_each_room_says_at_its_door_what_it_is_for(package):
    django = {"management", "commands", "migrations", "templatetags"}
    rooms = [
        path for path in (BASE_DIR / package).rglob("__init__.py") if not django & set(path.parts)
    ]

    silent = [
        path.relative_to(BASE_DIR) for path in rooms if not path.read_text().startswith('"""')
    ]

    assert silent == []


@pytest.mark.parametrize("place", sorted({*LONG, *SLOW_PLACES}))
def test_each_place_that_is_named_as_slow_is_there(place):
    path = TESTS / (place if place.endswith("/") else f"{place}.py")

    assert path.exists()


def test_make_quick_leaves_unread_only_what_it_would_not_run():
    told = re.search(r"^UNREAD = .*--ignore=tests/,([a-z_ ]+)\)$", MAKEFILE.read_text(), re.M)

    assert told
    assert {f"{name}/" for name in told[1].split()} <= set(SLOW_PLACES)


def test_contracts_know_every_module_and_a_line_has_at_most_three_siblings():
    layered = [one for one in contracts() if one["type"] == "layers"]
    rooms = [one for one in layered if "containers" in one]

    assert {one["name"] for one in rooms if not one.get("exhaustive")} == set()
    lines = [line for one in layered for line in one["layers"]]
    assert {line for line in lines if len(re.split(r"[|:]", line)) > MOST_SIBLINGS} == set()


def calls_itself_pure(text: str) -> bool:
    """Whether the docstring says so. To parse all modules takes two seconds."""
    pure = re.compile(r"\bpure\b(?!`)", re.I)
    return bool(pure.search(text) and pure.search(ast.get_docstring(ast.parse(text)) or ""))


def test_what_calls_itself_pure_may_import_neither_clock_nor_chance():
    bound = [
        tuple(name.split("."))
        for one in contracts()
        if {"time", "random", "django"} <= set(one.get("forbidden_modules", ()))
        for name in one["source_modules"]
    ]
    pure = [
        path.relative_to(BASE_DIR).with_suffix("").parts
        for package in PACKAGES
        for path in (BASE_DIR / package).rglob("*.py")
        if calls_itself_pure(path.read_text())
    ]

    free = {".".join(name) for name in pure if all(name[: len(room)] != room for room in bound)}
    assert len(pure) > len(free)
    # that one says which of its modules are pure
    assert free <= {"dnscache.preresolver.__init__"}, (
        "add them to “the pure rules” in pyproject.toml"
    )


def test_only_a_sandbox_starts_programs_of_the_crawler():
    starting = {
        str(path.relative_to(BASE_DIR))
        for path in (BASE_DIR / "crawling").rglob("*.py")
        if re.search(r"^\s*(import|from) subprocess\b", path.read_text(), re.M)
    }

    assert starting == {"crawling/machine/sandbox.py"}

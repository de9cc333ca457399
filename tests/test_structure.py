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

PACKAGES = ("allocation", "crawling", "crawlsite", "dnscache", "serving")
TESTS, MAKEFILE = BASE_DIR / "tests", BASE_DIR / "Makefile"
MOST_FILES = 25
MOST_AT_THE_TOP_OF_CRAWLING = 12
MOST_SIBLINGS = 3


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
        if re.search(r"\bpure\b(?!`)", ast.get_docstring(ast.parse(path.read_text())) or "", re.I)
    ]

    free = {".".join(name) for name in pure if all(name[: len(room)] != room for room in bound)}
    assert len(pure) > len(free)
    assert free <= {"dnscache.preresolver.__init__"}, "it says which of its modules are pure"

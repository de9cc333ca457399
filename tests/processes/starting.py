"""The start of a run of the suite in several processes: data that each of them needs are made
once.
"""

from __future__ import annotations

import importlib
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.databases.template import migrated_template

FORK = multiprocessing.get_context("fork")


def dealt(items: list[pytest.Item], long: tuple[str, ...], processes: int) -> list[pytest.Item]:
    """The tests in the order in which they are to be split, into one block a process.

    Every other block begins with a part of the tests that take long, in whole files: these wait
    much, and meanwhile the blocks between them need the processor. Processes that have finished
    take over the last tests of other blocks, so the run ends with short tests.
    """
    parts: list[list[pytest.Item]] = [[] for _ in range(max(1, processes // 2))]
    files: dict[Path, list[pytest.Item]] = {}
    short = []
    for item in items:
        is_long = item.nodeid.removeprefix("tests/").startswith(long)
        (files.setdefault(item.path, []) if is_long else short).append(item)
    for number, file in enumerate(files.values()):
        parts[number % len(parts)] += file
    order = []
    for number, part in enumerate(parts, start=1):
        end = len(items) * number // len(parts)
        order += part
        filling = max(0, end - len(order))
        order += short[:filling]
        del short[:filling]
    return order


@contextmanager
def compiled_meanwhile(config: pytest.Config) -> Iterator[None]:
    """While this process collects, another one imports the test modules from the last to the first,
    and then makes the template of the test databases.

    pytest compiles each test module that is new or changed, which takes two milliseconds an
    assertion. On a fresh clone that takes longer than all the rest of the collection.
    """
    process = FORK.Process(target=_compile, args=(sorted(modules(config), reverse=True),))
    process.start()
    try:
        yield
    finally:
        process.join()


def _compile(names: list[str]) -> None:
    for name in names:
        # the collection fails for the same reason, and prints it
        with suppress(Exception, pytest.skip.Exception):
            importlib.import_module(name)
    migrated_template()


def modules(config: pytest.Config) -> Iterator[str]:
    """The names of the test modules that will be collected."""
    ignored = [Path(path).resolve() for path in config.getoption("ignore") or ()]
    for argument in config.args:
        path = Path(argument.partition("::")[0]).resolve()
        for file in [path] if path.is_file() else path.rglob("test_*.py"):
            if not any(map(file.is_relative_to, ignored)):
                yield ".".join(file.relative_to(config.rootpath).with_suffix("").parts)

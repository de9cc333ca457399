"""Pools and processes for the bank's tests, and the check that no test loses a unit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from uuid import uuid4

import pytest

from allocation.models import Conservation, Pool, Process, Request
from allocation.services import (
    NewClass,
    RequestOutcome,
    create_pool,
    register_process,
    request_resources,
)
from tests.conftest import is_transactional

KEYS = "abcdefghij"


@pytest.fixture(autouse=True)
def nothing_is_lost(request: pytest.FixtureRequest) -> Iterator[None]:
    """After every test with a database, check that each unit is available or held, and that every
    waiting process is recorded as such.
    """
    uses_database = {"db", "transactional_db"} & set(
        request.fixturenames
    ) or request.node.get_closest_marker("django_db")
    if uses_database:
        request.getfixturevalue("transactional_db" if is_transactional(request) else "db")
    yield
    if uses_database:
        lost = [
            (row.key, row.difference, row.ungranted)
            for row in Conservation.objects.all()
            if row.difference or row.ungranted
        ]
        assert lost == []
        told = set(Process.objects.filter(is_waiting=True).values_list("pk", flat=True))
        waiting = Request.objects.filter(state="waiting")
        assert told == set(waiting.values_list("process", flat=True))


@pytest.fixture
def make_pool() -> Callable[..., Pool]:
    """make_pool(10, 5, 7) has classes a, b, c of that many units."""

    def make(*capacity: int, name: str = "pool", policy: str = "banker") -> Pool:
        classes = [
            NewClass(key, f"unit of {key}", f"What {key} is for.", units)
            for key, units in zip(KEYS, capacity, strict=False)
        ]
        return create_pool(name=name, classes=classes, policy=policy)

    return make


@pytest.fixture
def make_process() -> Callable[..., Process]:
    """make_process(pool, "p0", maximum, holding) registers a process, and starts it with the units
    that it is to hold.
    """

    def make(
        pool: Pool,
        label: str,
        maximum: tuple[int, ...],
        holding: tuple[int, ...] | None = None,
        *,
        run_ref: str = "",
        share: int | None = None,
    ) -> Process:
        process = register_process(
            pool=pool.pk,
            label=label,
            run_ref=run_ref or f"run:{label}",
            maximum=units(*maximum),
            share=share,
        )
        if holding and any(holding):
            assert ask(process, holding).granted
        process.refresh_from_db()
        return process

    return make


def units(*amounts: int) -> Mapping[str, int]:
    """units(1, 0, 2) is {"a": 1, "b": 0, "c": 2}."""
    return dict(zip(KEYS, amounts, strict=False))


def ask(process: Process, amounts: tuple[int, ...], **options: object) -> RequestOutcome:
    """Ask for a start, or for growth if the process holds something already."""
    process.refresh_from_db()
    if process.holding and "kind" not in options:
        options = {"kind": "growth", "epoch": process.epoch, **options}
    return request_resources(
        process=process.pk, amounts=units(*amounts), **{"request_id": uuid4(), **options}
    )


def held(process: Process) -> tuple[int, ...]:
    process.refresh_from_db()
    return tuple(process.allocated)


def available(pool: Pool) -> tuple[int, ...]:
    pool.refresh_from_db()
    return tuple(pool.available)

"""The browser program ends when a task of its own fails: no page waits for an answer."""

import asyncio
from types import SimpleNamespace

import pytest

from crawling.web.rendering.program import Program


@pytest.mark.parametrize(("fails", "ends"), [(True, True), (False, False)])
def test_a_task_that_fails_ends_the_program(fails, ends):
    async def picture(_page):
        if fails:
            raise ZeroDivisionError
        return b""

    async def work():
        logged = []
        asyncio.get_running_loop().set_exception_handler(lambda _, told: logged.append(told))
        engine = SimpleNamespace(picture=picture, memory_of_page=lambda _page: 0)
        program = Program(engine, SimpleNamespace(write=lambda _bytes: None))
        program.take({"kind": "picture", "page": 1, "number": 1}, [])
        [task] = program._tasks
        await asyncio.wait([task])
        await asyncio.sleep(0)  # the callback of the task
        return program.has_to_end.is_set(), [one["exception"] for one in logged]

    has_to_end, errors = asyncio.run(work())

    assert has_to_end is ends
    assert [type(error) for error in errors] == [ZeroDivisionError] * fails

"""A client of a bank whose server may be killed at any moment: start, growth and release, over and
over, each sent until it is answered.

`python -m tests.races.client PROCESS` prints a line for each shift that succeeded. A line on its
input ends it.
"""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Callable
from uuid import uuid4

import django
from django.db import InterfaceError, OperationalError, connection


def until_answered(work: Callable, **kwargs: object) -> object:
    """Send the same request again and again: its id makes that harmless."""
    while True:
        try:
            return work(**kwargs)
        except (OperationalError, InterfaceError):
            connection.close()
            time.sleep(0.05)


def main(process: int) -> None:
    from allocation.services import RequestKind, release_resources, request_resources

    while not select.select([sys.stdin], [], [], 0)[0]:
        start = until_answered(
            request_resources, process=process, amounts={"a": 2}, request_id=uuid4()
        )
        more = {
            "process": process,
            "amounts": {"a": 1},
            "request_id": uuid4(),
            "kind": RequestKind.GROWTH,
            "epoch": start.epoch,
        }
        assert until_answered(request_resources, **more).granted
        end = {"process": process, "epoch": start.epoch, "release_id": uuid4(), "amounts": None}
        assert dict(until_answered(release_resources, **end).amounts) == {"a": 3}
        print(start.grant_id, flush=True)


if __name__ == "__main__":
    django.setup()
    main(int(sys.argv[1]))

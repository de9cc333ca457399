"""A web that answers at once, served as the dashboard's is: for tests of the supervisor, to which
it does not matter what is served. The dashboard takes nine seconds of the processor to start.
"""

from __future__ import annotations

from collections.abc import Callable


def application(environ: dict[str, object], start_response: Callable) -> list[bytes]:
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"ok"]

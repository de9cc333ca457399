"""A web server that answers at once and is started like the dashboard's: for tests of the
supervisor, which do not depend on the pages. The dashboard takes nine seconds of the processor to
start.
"""

from __future__ import annotations

from collections.abc import Callable


def application(environ: dict[str, object], start_response: Callable) -> list[bytes]:
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"ok"]

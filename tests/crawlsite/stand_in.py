"""The site with a /healthz that always answers, for tests of the supervisor."""

from collections.abc import Callable, Iterable
from typing import Any

from crawlsite.wsgi import application as site


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    if environ["PATH_INFO"] == "/healthz":
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"ok"]
    return site(environ, start_response)

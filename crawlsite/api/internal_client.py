"""Ask the JSON from inside, as a user, without a server or a token: what `manage.py api` does."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

from django.contrib.auth.models import User
from django.core.handlers.wsgi import WSGIRequest
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve

from crawlsite.api.errors import API_PREFIX


class NoSuchEndpoint(Exception):
    """No endpoint has this path; /api/v1/docs lists those there are."""


def ask(method: str, address: str, *, user: User, body: Any = None) -> HttpResponseBase:
    """The answer of an endpoint.

    address: path and query, as `/api/v1/crawls?q=x`. Raises NoSuchEndpoint.
    """
    path, _, query = address.partition("?")
    payload = b"" if body is None else json.dumps(body).encode()
    request = WSGIRequest(
        {
            "REQUEST_METHOD": method,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(payload)),
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "wsgi.input": BytesIO(payload),
        }
    )
    request.user = user
    # no other site's page can have sent it
    request._dont_enforce_csrf_checks = True  # type: ignore[attr-defined]
    try:
        match = resolve(path)
    except Resolver404:
        match = None
    if match is None or not path.startswith(API_PREFIX):
        raise NoSuchEndpoint(path)
    answer: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
    return answer

"""`manage.py api METHOD PATH [BODY]`: everything that pages and programs can do, from the command
line.
"""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.core.handlers.wsgi import WSGIRequest
from django.core.management.base import BaseCommand, CommandError
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve

from crawling.dashboard.management.command_errors import plain_errors
from crawlsite.api.errors import API_PREFIX

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
EPILOG = """examples:
  manage.py api GET /api/v1/crawls?state=failed
  manage.py api GET /api/v1/crawls/3/pages?status=404 --all
  manage.py api PUT /api/v1/hosts/7/block '{"reason": "asked for by its owner"}'
  manage.py api PATCH /api/v1/crawls/3 @changes.json --user alice

/api/v1/docs, in the dashboard, lists the endpoints with an example of each body.
The exit status is 1 where the answer is an error.
"""


class NoSuchEndpoint(Exception):
    """No endpoint has this path; /api/v1/docs lists those there are."""


def ask(method: str, address: str, *, user: User, body: Any = None) -> HttpResponseBase:
    """The answer of an endpoint.

    address: path and query, such as `/api/v1/crawls?q=x`. Raises NoSuchEndpoint.
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
    # no page of another site can have sent this request
    request._dont_enforce_csrf_checks = True  # type: ignore[attr-defined]
    try:
        match = resolve(path)
    except Resolver404:
        match = None
    if match is None or not path.startswith(API_PREFIX):
        raise NoSuchEndpoint(path)
    answer: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
    return answer


class Command(BaseCommand):
    help = (
        "Send a request to /api/v1/ without a token, as an administrator or another user, and "
        "print the JSON answer."
    )

    def create_parser(self, prog_name: str, subcommand: str, **options: Any) -> Any:
        return super().create_parser(
            prog_name,
            subcommand,
            epilog=EPILOG,
            formatter_class=RawDescriptionHelpFormatter,
            **options,
        )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("method", choices=METHODS)
        parser.add_argument("path", help="with its query, such as /api/v1/crawls?q=manual")
        parser.add_argument("body", nargs="?", help="JSON, or @FILE with JSON")
        parser.add_argument(
            "--user",
            help="user of the request, with its role; the activity log names it (default: the "
            "first superuser)",
        )
        parser.add_argument(
            "--all",
            action="store_true",
            help="with GET of a list: all pages, one JSON object per line",
        )

    def handle(
        self, *, method: str, path: str, body: str | None, user: str | None, **options: Any
    ) -> None:
        with plain_errors():
            who, sent = _user(user), _body(body)
            if options["all"]:
                self._print_all(path, who)
            else:
                self._print(_answer_of(method, path, who, sent))

    def _print_all(self, path: str, who: User) -> None:
        cursor: Any = None
        while True:
            here = (
                path
                if cursor is None
                else f"{path}{'&' if '?' in path else '?'}{urlencode({'cursor': cursor})}"
            )
            told = json.loads(_content_of_answer(_answer_of("GET", here, who, None)))
            if "items" not in told:
                raise CommandError(
                    f"{path} is no list, so --all means nothing there; leave it out."
                )
            for item in told["items"]:
                self.stdout.write(json.dumps(item, ensure_ascii=False))
            cursor = told.get("next")
            if cursor is None:
                return

    def _print(self, answer: HttpResponseBase) -> None:
        content = _content_of_answer(answer)
        if answer.get("Content-Type", "").startswith("application/json"):
            self.stdout.write(json.dumps(json.loads(content), indent=2, ensure_ascii=False))
        elif content:
            sys.stdout.buffer.write(content)  # a file, whatever its bytes are


def _answer_of(method: str, path: str, who: User, sent: Any) -> HttpResponseBase:
    try:
        answer = ask(method, path, user=who, body=sent)
    except NoSuchEndpoint as error:
        raise CommandError(
            f"There is no endpoint {error}; /api/v1/docs, in the dashboard, lists those there are."
        ) from error
    if answer.status_code >= HTTPStatus.BAD_REQUEST:
        raise CommandError(f"{answer.status_code}: {_detail_of_answer(answer)}")
    if method == "GET" and answer.status_code == HTTPStatus.ACCEPTED:
        # a background job is working; it answers or fails within a few minutes
        time.sleep(int(answer["Retry-After"]))  # the server states when the request may be repeated
        return _answer_of(method, path, who, sent)
    return answer


def _content_of_answer(answer: HttpResponseBase) -> bytes:
    return (
        answer.getvalue()
        if isinstance(answer, StreamingHttpResponse)
        else bytes(getattr(answer, "content", b""))
    )


def _detail_of_answer(answer: HttpResponseBase) -> str:
    try:
        return str(json.loads(_content_of_answer(answer))["detail"])
    except (ValueError, KeyError):
        return HTTPStatus(answer.status_code).description or HTTPStatus(answer.status_code).phrase


def _user(name: str | None) -> User:
    users = User.objects.filter(is_active=True)
    user = (
        (users.filter(is_superuser=True) if name is None else users.filter(username=name))
        .order_by("pk")
        .first()
    )
    if user is None:
        raise CommandError(
            f"There is no active user {name!r}."
            if name
            else "There is no active superuser; name a user with --user."
        )
    return user


def _body(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return json.loads(Path(text[1:]).read_text() if text.startswith("@") else text)
    except OSError as error:
        raise CommandError(f"{error.strerror}: {text[1:]}") from error
    except ValueError as error:
        raise CommandError(f"The body is no JSON: {error}") from error

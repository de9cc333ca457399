"""The description of the endpoints. Errors that are the same everywhere are described once,
here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import MethodType
from typing import Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation
from pydantic import Field

from serving.access import require
from serving.schemas import Schema


class Problem(Schema):
    """Every error looks like this."""

    detail: str = Field(description="a sentence that says what is wrong and what to do")
    errors: dict[str, str] | None = Field(
        None, description="a sentence for each field that is wrong (422 only)"
    )
    request_id: str | None = Field(
        None,
        description="what to quote when you ask for help (500 only); every answer's "
        "X-Request-ID is that",
    )


ALWAYS = {
    401: "Not logged in",
    403: "The user's role does not allow it",
    429: "Too many requests in this minute",
}
WITH_INPUT = {422: "A parameter or field is wrong"}
WITH_BODY = {400: "The body is not JSON", 413: "The body is too big"}
WITH_PATH = {404: "Not found"}
WRITING = {
    409: "Not possible in the present state",
    503: "The pool is busy, or what is asked is made anew; try again shortly",
}
RETRY_AFTER = {
    "headers": {
        "Retry-After": {
            "description": "seconds until the next minute",
            "schema": {"type": "integer", "minimum": 1},
        }
    }
}
SCHEMA = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}}
#: the schema of an order, by its title; it occurs wherever an order is sent, and the description
#: contains it once
SHARED = "CrawlOrder"


def tell_permission(run: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Record the permissions that an endpoint requires, at the function that answers its
    operation.
    """
    operation = cast(Operation, cast(MethodType, run).__self__)

    @wraps(run)
    def note_and_call(request: HttpRequest, **values: Any) -> HttpResponse:
        vars(request)["needs"] = vars(operation.view_func).get("needs", "")
        return run(request, **values)

    return note_and_call


class DescribedAPI(NinjaAPI):
    """A NinjaAPI whose description lists every status of its error handlers. The description is
    built once, on the first request.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._described: dict[str, OpenAPISchema] = {}

    def create_temporal_response(self, request: HttpRequest) -> HttpResponse:
        """django-ninja calls this between the log-in and the check of the input, so that users who
        may not call the endpoint get 403, whatever they send. `tell_permission` documents the
        permission.
        """
        require(cast(User, request.user), vars(request).get("needs", ""))
        return super().create_temporal_response(request)

    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, Any] | None = None
    ) -> OpenAPISchema:
        prefix = path_prefix or self.get_root_path(path_params or {})
        if prefix not in self._described:
            self._described[prefix] = self._describe(prefix)
        return self._described[prefix]

    def get_openapi_operation_id(self, operation: Operation) -> str:
        """The name of the operation's function, a verb and a noun that no other operation has."""
        return operation.view_func.__name__

    def _describe(self, prefix: str) -> OpenAPISchema:
        schema = super().get_openapi_schema(path_prefix=prefix)
        parts = schema["components"]
        found: dict[str, Any] = {}
        schema["paths"], parts["schemas"] = (
            _with_shared_definitions(schema["paths"], found),
            _with_shared_definitions(parts["schemas"], found),
        )
        parts["schemas"] |= {**found, "Problem": Problem.model_json_schema()}
        told = ALWAYS | WITH_INPUT | WITH_BODY | WITH_PATH | WRITING
        parts["responses"] = {
            str(status): {"description": words, **SCHEMA} for status, words in told.items()
        }
        parts["responses"]["429"] |= RETRY_AFTER
        text = f"{schema['paths']} {parts['schemas']}"
        for name in [one for one in parts["schemas"] if f"schemas/{one}'" not in text]:
            del parts["schemas"][name]
        for methods in schema["paths"].values():
            for method, operation in methods.items():
                for status in _possible_errors(method, operation):
                    operation["responses"].setdefault(
                        status, {"$ref": f"#/components/responses/{status}"}
                    )
        return schema


def _with_shared_definitions(part: Any, found: dict[str, Any]) -> Any:
    """The part with references to shared definitions. These are put into `found`."""
    if isinstance(part, list):
        return [_with_shared_definitions(one, found) for one in part]
    if not isinstance(part, dict):
        return part
    if part.get("title") == SHARED and "properties" in part:
        found.setdefault(SHARED, part)
        return {"$ref": f"#/components/schemas/{SHARED}"}
    return {name: _with_shared_definitions(one, found) for name, one in part.items()}


def _possible_errors(method: str, operation: dict[str, Any]) -> dict[int, str]:
    errors = dict(ALWAYS)
    places = {parameter["in"] for parameter in operation["parameters"]}
    if places or "requestBody" in operation:
        errors |= WITH_INPUT
    if "requestBody" in operation:
        errors |= WITH_BODY
    if "path" in places:
        errors |= WITH_PATH
    if method != "get":
        errors |= WRITING
    return errors

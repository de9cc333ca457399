"""Every error as JSON, with a sentence in `detail`, the right status, and a sentence for each wrong
field.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.core.exceptions import ObjectDoesNotExist, PermissionDenied, RequestDataTooBig
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, Throttled, ValidationError

from allocation.errors import (
    AllocationError,
    BadAmount,
    BankBusy,
    LedgerUnreadable,
    UnknownEvent,
    UnknownPool,
    UnknownProcess,
    UnknownResource,
    UnknownShare,
)
from crawling.base.errors import (
    BadOrder,
    CrawlError,
    IndexBroken,
    InquiriesBusy,
    NotFound,
    TooManyWait,
    UnknownCrawl,
    UnknownRun,
    Withdrawn,
)
from crawling.orders.sentences import sentence_for
from crawling.web.addresses import BadUrl
from crawlsite.api.admission import too_many
from crawlsite.api.auth import LOG_IN
from crawlsite.middleware.crawl_permissions import refused_permissions
from crawlsite.middleware.request_ids import current_request_id
from crawlsite.middleware.retry_later import AGAIN_SECONDS
from dnscache.protocol.names import DnsCacheError
from dnscache.services import UnknownServer
from serving.listing.row_list import BadListRequest

#: the status of each class of errors; the first class that fits counts
STATUSES: tuple[tuple[type[Exception], int], ...] = (
    (PermissionDenied, 403),
    (Http404, 404),
    (ObjectDoesNotExist, 404),
    (UnknownCrawl, 404),
    (UnknownRun, 404),
    (Withdrawn, 410),
    (NotFound, 404),
    (UnknownPool, 404),
    (UnknownProcess, 404),
    (UnknownShare, 404),
    (UnknownEvent, 404),
    (LedgerUnreadable, 500),
    (RequestDataTooBig, 413),
    (UnknownServer, 404),
    (BadUrl, 422),
    (DnsCacheError, 422),
    (BadAmount, 422),
    (UnknownResource, 422),
    (BankBusy, 503),
    (IndexBroken, 503),
    (InquiriesBusy, 503),
    (TooManyWait, 429),
    (AllocationError, 409),
    (CrawlError, 409),
    (OperationalError, 503),
)
SENTENCES = {
    PermissionDenied: "Your account may not do this; ask an administrator for the permission.",
    ObjectDoesNotExist: "It does not exist any more.",
    RequestDataTooBig: "The body is too big; split it over several requests.",
    OperationalError: "The database was too busy, or is not there; ask again in a moment.",
}
#: the words about a body, if they differ from those for fields of a crawl's order
OF_BODIES = {
    "extra_forbidden": "is not a known field; omit it",
    "dict_type": "must be an object of fields and their values",
    "model_attributes_type": "must be an object of fields and their values",
}
#: the seconds after which some of the waiting crawls may have been started
TURN_SECONDS = 60
API_PREFIX = "/api/"
#: the root of the endpoints of this version
API_ROOT = f"{API_PREFIX}v1/"


def add_error_handlers(api: NinjaAPI) -> None:
    for kind, status in STATUSES:
        api.add_exception_handler(kind, _sentence_handler(api, status, SENTENCES.get(kind)))
    for kind in (BadOrder, BadListRequest):
        api.add_exception_handler(kind, _error_handler(api, _answer_bad_order))
    api.add_exception_handler(ValidationError, _error_handler(api, _answer_bad_input))
    api.add_exception_handler(HttpError, _error_handler(api, _answer_http_error))


def _error_handler(
    api: NinjaAPI, tell: Callable[[NinjaAPI, HttpRequest, Any], HttpResponse]
) -> Callable[[HttpRequest, Any], HttpResponse]:
    return lambda request, error: tell(api, request, error)


def _sentence_handler(
    api: NinjaAPI, status: int, sentence: str | None
) -> Callable[[HttpRequest, Any], HttpResponse]:
    def answer(request: HttpRequest, error: Exception) -> HttpResponse:
        detail = sentence or str(error)
        if isinstance(error, PermissionDenied):
            detail = str(error) or refused_permissions(request) or detail
        response = api.create_response(request, {"detail": detail}, status=status)
        if status == HTTPStatus.SERVICE_UNAVAILABLE:
            response["Retry-After"] = str(AGAIN_SECONDS)
        elif status == HTTPStatus.TOO_MANY_REQUESTS:
            response["Retry-After"] = str(TURN_SECONDS)
        return response

    return answer


def _answer_by_field(api: NinjaAPI, request: HttpRequest, errors: dict[str, str]) -> HttpResponse:
    detail = "; ".join(f"{field}: {sentence}" for field, sentence in errors.items())
    return api.create_response(request, {"detail": detail, "errors": errors}, status=422)


def _answer_bad_order(
    api: NinjaAPI, request: HttpRequest, error: BadOrder | BadListRequest
) -> HttpResponse:
    return _answer_by_field(api, request, error.errors)


def _answer_bad_input(api: NinjaAPI, request: HttpRequest, error: ValidationError) -> HttpResponse:
    """Answer with sentences by field, as for orders.

    The location of an error begins with the query or the body and, for a body, the name of its
    parameter in our code.
    """
    errors: dict[str, str] = {}
    for mistake in error.errors:
        source, *where = (str(part) for part in mistake["loc"])
        field = ".".join(where[1:] if source == "body" else where)
        sentence = OF_BODIES.get(mistake["type"]) or sentence_for(
            mistake["type"], mistake.get("ctx", {}), mistake["msg"]
        )
        errors.setdefault(field or source, sentence)
    return _answer_by_field(api, request, errors)


def _answer_http_error(api: NinjaAPI, request: HttpRequest, error: HttpError) -> HttpResponse:
    detail = error.message
    if error.status_code == HTTPStatus.BAD_REQUEST and error.__cause__:
        detail = f"The body is not JSON: {error.__cause__}"
    elif error.status_code == HTTPStatus.UNAUTHORIZED and detail == HTTPStatus.UNAUTHORIZED.phrase:
        detail = LOG_IN
    elif isinstance(error, Throttled):
        detail = too_many(error.wait or 0)
    response = api.create_response(request, {"detail": detail}, status=error.status_code)
    if isinstance(error, Throttled):
        response["Retry-After"] = str(error.wait)
    if error.status_code == HTTPStatus.UNAUTHORIZED:
        response["WWW-Authenticate"] = "Bearer"
    return response


def _problem_json(path: str, response: HttpResponse) -> dict[str, str]:
    detail = f"{HTTPStatus(response.status_code).description or response.reason_phrase}."
    if not path.startswith(API_ROOT):
        detail = f"{detail} The endpoints are under {API_ROOT}; {API_ROOT}docs lists them."
    if response.status_code < HTTPStatus.INTERNAL_SERVER_ERROR:
        return {"detail": detail}
    number = current_request_id()
    return {
        "detail": f"{detail} Search the server's log for {number}, the ID of this request.",
        "request_id": number,
    }


class JsonErrorMiddleware:
    """Middleware: Django's own answers to a program's mistake, or to a fault of ours, become
    JSON.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        is_error = (
            request.path.startswith(API_PREFIX) and response.status_code >= HTTPStatus.BAD_REQUEST
        )
        if is_error and not response.get("Content-Type", "").startswith("application/json"):
            response.content = json.dumps(_problem_json(request.path, response))
            response["Content-Type"] = "application/json; charset=utf-8"
            # the length is that of Django's page
            response["Content-Length"] = str(len(response.content))
        return response

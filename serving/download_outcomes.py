"""The outcomes of downloads that a page begins automatically. A cookie shows the page and its
script whether the server has begun to send each file: a frame that receives a file does not notify
its page, and a frame that is refused one shows nothing.
"""

from __future__ import annotations

from enum import StrEnum

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

#: how the names of these cookies begin
PREFIX = "load-"
KEPT_SECONDS = 24 * 60 * 60


class DownloadOutcome(StrEnum):
    SENT = "sent"
    #: the server had no place for it
    REFUSED = "refused"
    #: it could not be made; its link says why
    FAILED = "failed"


def outcome_of(request: HttpRequest, name: str) -> str:
    """ "" if there is none yet."""
    return request.COOKIES.get(PREFIX + name, "")


def tell_outcome(
    response: HttpResponseBase, outcome: DownloadOutcome, name: str, *, page: str
) -> None:
    """page: the path of the page that reads it, by its script as well."""
    secure = settings.SESSION_COOKIE_SECURE
    response.set_cookie(
        PREFIX + name, outcome, KEPT_SECONDS, path=page, secure=secure, samesite="Strict"
    )


def forget_outcome(response: HttpResponseBase, name: str, *, page: str) -> None:
    response.delete_cookie(PREFIX + name, path=page, samesite="Strict")


def tell_refusal(response: HttpResponseBase) -> None:
    """Tell that a download is refused whose response says that it is sent."""
    for name, cookie in response.cookies.items():
        if name.startswith(PREFIX):
            cookie.set(name, DownloadOutcome.REFUSED, DownloadOutcome.REFUSED)

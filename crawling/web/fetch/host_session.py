"""A shift's state of a host beside its robots.txt: cookies, the challenge of its authentication,
and whether the crawl has logged in.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from io import BytesIO
from typing import Any, cast

from requests import PreparedRequest, Request, Response
from requests.adapters import BaseAdapter
from requests.auth import HTTPDigestAuth
from requests.hooks import dispatch_hook
from requests.utils import parse_dict_header

from crawling.web.addresses import Address
from crawling.web.cookies import Cookies


@dataclass
class HostSession:
    """Used by the fetch thread that has the host; it is one at a time."""

    cookies: Cookies | None = None
    #: of the latest 401 of each of its origins (RFC 9110, section 11.5), by origin
    challenges: dict[str, str] = field(default_factory=dict)
    is_logged_in: bool = False
    _digest: tuple[str, HTTPDigestAuth] | None = field(default=None, repr=False)

    def keep_challenge(self, origin: str, status: int, headers: Mapping[str, str]) -> None:
        if status == HTTPStatus.UNAUTHORIZED:
            self.challenges[origin] = headers.get("WWW-Authenticate", "")

    def authorization(self, secret: str, address: Address, method: str) -> str:
        """The answer to the challenge of the URL's origin (RFC 7617, RFC 7616).

        Empty as long as that has made none that is known here.
        """
        challenge = self.challenges.get(address.origin, "")
        place = challenge.lower().find("digest ")
        if place >= 0:
            said = challenge[place + len("digest ") :]
            user, _, password = secret.partition(":")
            return self._digest_for(said, user, password, address.url, method)
        is_basic = "basic" in challenge.lower()
        return f"Basic {b64encode(secret.encode()).decode()}" if is_basic else ""

    def _digest_for(self, challenge: str, user: str, password: str, url: str, method: str) -> str:
        if not {"realm", "nonce"} <= parse_dict_header(challenge).keys():  # type: ignore[no-untyped-call]
            return ""
        if self._digest is None or self._digest[0] != challenge:
            self._digest = challenge, HTTPDigestAuth(user, password)
        request = Request(method, url).prepare()
        request.url = url  # as it is sent, where requests would write it again
        self._digest[1](request)
        if "Authorization" not in request.headers:
            request = _answered(request, challenge)
        # headers are latin-1 here; RFC 7616 writes names in UTF-8, as they were hashed
        said: str = request.headers.get("Authorization", "")
        return said.encode().decode("latin-1")


class _Kept(BaseAdapter):
    """Keeps what it is to send: the host's delay comes before that."""

    request: PreparedRequest

    def send(self, request: PreparedRequest, *_: Any, **__: Any) -> Response:
        self.request = request
        return Response()


def _answered(request: PreparedRequest, challenge: str) -> PreparedRequest:
    """What requests would send after a 401 with this challenge."""
    refused, kept = Response(), _Kept()
    refused.status_code, refused.request, refused.url = 401, request, request.url or ""
    refused.raw, refused.connection = BytesIO(), cast(Any, kept)
    refused.headers["WWW-Authenticate"] = f"Digest {challenge}"
    dispatch_hook("response", request.hooks, refused)  # type: ignore[no-untyped-call]
    return kept.request

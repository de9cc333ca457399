"""A shift's state of a host beside its robots.txt: cookies, the challenge of its authentication,
and whether the crawl has logged in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from urllib3 import HTTPHeaderDict

from crawling.web.addresses import Address
from crawling.web.fetch.challenges import (
    BASIC,
    DigestSession,
    basic_answer,
    read_challenges,
    strongest,
)
from crawling.web.fetch.cookies import Cookies


@dataclass
class HostSession:
    """Used by the fetch thread that has the host; it is one at a time."""

    cookies: Cookies | None = None
    #: of the latest 401 of each of its origins (RFC 9110, section 11.5), by origin
    challenges: dict[str, str] = field(default_factory=dict)
    is_logged_in: bool = False
    _digest: DigestSession | None = field(default=None, repr=False)

    def keep_challenge(self, origin: str, status: int, headers: Mapping[str, str]) -> None:
        if status == HTTPStatus.UNAUTHORIZED:
            name = "WWW-Authenticate"
            if isinstance(headers, HTTPHeaderDict):
                self.challenges[origin] = ", ".join(headers.getlist(name))
            else:
                self.challenges[origin] = headers.get(name, "")

    def authorization(self, secret: str, address: Address, method: str, body: bytes = b"") -> str:
        """The answer to the challenge of the URL's origin.

        Empty as long as that has made none that is known here.
        """
        asked = self.challenges.get(address.origin)
        challenge = strongest(read_challenges(asked)) if asked else None
        if challenge is None:
            return ""
        user, _, password = secret.partition(":")
        if challenge.scheme == BASIC:
            return basic_answer(user, password)
        made_for = DigestSession(challenge, user, password)
        if self._digest is None or not self._digest.is_for(made_for):
            self._digest = made_for
        return self._digest.answer(method, address.target, body)

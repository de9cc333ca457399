"""The session of a run with a host: cookies, the challenge of its authentication, and whether the
crawl has logged in. The state outlives the shift that has the host.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from urllib3 import HTTPHeaderDict

from crawling.machine.eviction import forget_oldest
from crawling.web.addresses import Address
from crawling.web.fetch.challenges import (
    BASIC,
    DigestSession,
    basic_authorization,
    read_challenges,
    strongest_challenge,
)
from crawling.web.fetch.cookies import Cookies

#: the most characters of an origin's challenges, which form one field, and the most origins of a
#: host, which may have one for each port
LONGEST_CHALLENGE, MOST_ORIGINS = 8192, 20


@dataclass
class HostSession:
    """The session of one host. Used by the thread that has the host, and by the requests of the
    page that this thread renders, of which several are made at once.
    """

    cookies: Cookies | None = None
    #: the challenge of the latest 401 of each origin (RFC 9110, section 11.5)
    challenges: dict[str, str] = field(default_factory=dict)
    #: a hash of the login that the crawl used; "" if it has not logged in
    logged_in_with: str = ""
    #: whether an earlier shift logged in, which the site may have forgotten by now
    is_login_old: bool = False
    #: the id of the URL that was last requested again, with credentials
    answered: int = 0
    _kept: dict[str, Any] = field(init=False, repr=False)
    _digest: DigestSession | None = field(default=None, repr=False)
    #: of the challenges and of the answers to them, which are numbered
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._kept = self._state()

    @property
    def has_changed(self) -> bool:
        """Whether the session differs from the last dumped or loaded state."""
        return self._state() != self._kept or bool(self.cookies and self.cookies.has_changed)

    def dump(self) -> dict[str, Any]:
        """The session as JSON. From now on `has_changed` compares with this state."""
        self._kept = self._state()
        return self._kept | {"cookies": self.cookies.dump() if self.cookies else []}

    def learn(self, dumped: Mapping[str, Any]) -> None:
        """Load the dump of the last shift that had the host, except the cookies."""
        if self._state() != self._kept:
            return  # this session wrote the dump
        self.challenges, self.answered = dict(dumped["challenges"]), dumped["answered"]
        if self.logged_in_with != dumped["logged_in_with"]:
            self.logged_in_with, self.is_login_old = dumped["logged_in_with"], True
        self._kept = self._state()

    def _state(self) -> dict[str, Any]:
        return {
            "challenges": dict(self.challenges),
            "answered": self.answered,
            "logged_in_with": self.logged_in_with,
        }

    def keep_challenge(self, origin: str, status: int, headers: Mapping[str, str]) -> None:
        if status != HTTPStatus.UNAUTHORIZED:
            return
        told = headers.get("WWW-Authenticate", "")
        if isinstance(headers, HTTPHeaderDict):
            told = ", ".join(headers.getlist("WWW-Authenticate"))
        with self._lock:
            self.challenges.pop(origin, None)
            self.challenges[origin] = told if len(told) <= LONGEST_CHALLENGE else ""
            forget_oldest(self.challenges, MOST_ORIGINS)

    def authorization(self, secret: str, address: Address, method: str, body: bytes = b"") -> str:
        """The Authorization field that answers the challenge of the URL's origin.

        Empty if no challenge of the origin is known.
        """
        user, _, password = secret.partition(":")
        with self._lock:
            asked = self.challenges.get(address.origin)
            challenge = strongest_challenge(read_challenges(asked)) if asked else None
            if challenge is None:
                return ""
            if challenge.scheme == BASIC:
                return basic_authorization(user, password)
            made_for = DigestSession(challenge, user, password)
            if self._digest is None or not self._digest.is_for(made_for):
                self._digest = made_for
            return self._digest.answer(method, address.target, body)

"""What a shift knows of a host beside its robots.txt: cookies, how it wants to be told who asks, and whether the crawl has logged in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from requests.auth import HTTPDigestAuth, _basic_auth_str
from requests.utils import parse_dict_header

from crawling.fetchers.cookies import Cookies
from crawling.rules.addresses import Address


@dataclass
class HostSession:
    """Used by whoever has the host, which is one toe at a time.

    challenges: of the latest 401 of each of its origins (RFC 9110, section 11.5), by origin.
    """

    cookies: Cookies | None = None
    challenges: dict[str, str] = field(default_factory=dict)
    is_logged_in: bool = False
    _digest: tuple[str, HTTPDigestAuth] | None = field(default=None, repr=False)

    def authorization(self, secret: str, address: Address, method: str) -> str:
        """The answer to the challenge of the URL's origin (RFC 7617, RFC 7616).

        Empty as long as that has made none that is known here.
        """
        user, _, password = secret.partition(":")
        challenge = self.challenges.get(address.origin, "")
        place = challenge.lower().find("digest ")
        if place >= 0:
            said = challenge[place + len("digest ") :]
            return self._digest_for(said, user, password, address.url, method)
        is_basic = "basic" in challenge.lower()
        return _basic_auth_str(user.encode(), password.encode()) if is_basic else ""

    def _digest_for(self, challenge: str, user: str, password: str, url: str, method: str) -> str:
        if self._digest is None or self._digest[0] != challenge:
            self._digest = challenge, HTTPDigestAuth(user, password)
        auth: Any = self._digest[1]
        auth.init_per_thread_state()  # its way to count nonces; told the challenge here, since requests does not send for us
        auth._thread_local.chal = parse_dict_header(challenge)  # type: ignore[no-untyped-call]
        if not {"realm", "nonce"} <= auth._thread_local.chal.keys():
            return ""
        return auth.build_digest_header(method, url) or ""

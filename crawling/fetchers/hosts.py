"""What a shift knows of a host beside its robots.txt: cookies, how it wants to be told who asks, and whether the crawl has logged in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from requests.auth import HTTPDigestAuth, _basic_auth_str
from requests.utils import parse_dict_header

from crawling.fetchers.cookies import Cookies


@dataclass
class HostSession:
    """Used by whoever has the host, which is one toe at a time. challenge: of the host's latest 401."""

    cookies: Cookies | None = None
    challenge: str = ""
    is_logged_in: bool = False
    _digest: tuple[str, HTTPDigestAuth] | None = field(default=None, repr=False)

    def authorization(self, secret: str, url: str, method: str) -> str:
        """The answer to the host's challenge (RFC 7617, RFC 7616); empty as long as it has made none that is known here."""
        user, _, password = secret.partition(":")
        place = self.challenge.lower().find("digest ")
        if place >= 0:
            return self._digest_for(self.challenge[place + len("digest ") :], user, password, url, method)
        return _basic_auth_str(user.encode(), password.encode()) if "basic" in self.challenge.lower() else ""

    def _digest_for(self, challenge: str, user: str, password: str, url: str, method: str) -> str:
        if self._digest is None or self._digest[0] != challenge:
            self._digest = challenge, HTTPDigestAuth(user, password)
        auth: Any = self._digest[1]
        auth.init_per_thread_state()  # its way to count nonces; told the challenge here, since requests does not send for us
        auth._thread_local.chal = parse_dict_header(challenge)  # type: ignore[no-untyped-call]
        if not {"realm", "nonce"} <= auth._thread_local.chal.keys():
            return ""
        return auth.build_digest_header(method, url) or ""

"""Servers' challenges for a user's name and password (RFC 9110, section 11), and the answers: Basic
(RFC 7617) and Digest (RFC 7616).
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from secrets import token_hex
from unicodedata import normalize
from urllib.parse import quote

#: the most characters of all fields together
MOST_CHARACTERS = 16 * 1024
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]++")
#: without the name of a parameter, which a value would follow
TOKEN68 = re.compile(r"[ \t]++([0-9A-Za-z._~+/-]++=*+)(?=[ \t]*+(?:,|\Z))")
VALUE = re.compile(r'[ \t]*+=[ \t]*+(?:"((?:[^"\\]++|\\.)*+)(?:"|\Z)|([^\s,"]*+))', re.DOTALL)
BETWEEN = re.compile(r"[\s,]++")
#: text that is not well-formed, up to the next parameter or challenge
REST = re.compile(r'(?:"(?:[^"\\]++|\\.)*+"?+|[^,"]++)++|.', re.DOTALL)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
BASIC, DIGEST = "basic", "digest"
#: hashes by their names in RFC 7616 and in servers, the strongest first
ALGORITHMS = {
    "SHA-512-256": "sha512_256",
    "SHA-512": "sha512",
    "SHA-256": "sha256",
    "SHA": "sha1",
    "MD5": "md5",
}
SESSION = "-SESS"


@dataclass(frozen=True, slots=True)
class Challenge:
    #: the scheme in lower case
    scheme: str
    #: values by name in lower case; if a name occurs twice, its first value counts
    parameters: Mapping[str, str] = field(default_factory=dict)


def read_challenges(text: str) -> list[Challenge]:
    """The challenges in WWW-Authenticate fields, which are written one after the other."""
    found: list[tuple[str, dict[str, str]]] = []
    text, at = text[:MOST_CHARACTERS], 0
    while at < len(text):
        if between := BETWEEN.match(text, at):
            at = between.end()
        word = TOKEN.match(text, at)
        value = VALUE.match(text, word.end()) if word else None
        if word and value and found:
            plain = value[2] if value[1] is None else ESCAPED.sub(r"\1", value[1])
            found[-1][1].setdefault(word[0].lower(), plain)
            at = value.end()
        elif word and not value:
            found.append((word[0].lower(), {}))
            at = token.end() if (token := TOKEN68.match(text, word.end())) else word.end()
        else:
            rest = REST.match(text, at)
            at = rest.end() if rest else len(text)
    return [Challenge(scheme, parameters) for scheme, parameters in found]


def strongest_challenge(challenges: list[Challenge]) -> Challenge | None:
    """The challenge to answer: Digest with the strongest hash, else Basic; None if none can be
    answered.
    """
    digests = [one for one in challenges if one.scheme == DIGEST and _can_answer(one)]
    if digests:
        names = list(ALGORITHMS)
        return min(digests, key=lambda one: names.index(_digest_algorithm(one)[0]))
    return next((one for one in challenges if one.scheme == BASIC), None)


def _digest_algorithm(challenge: Challenge) -> tuple[str, bool]:
    """The algorithm's name, and whether its secret is different for each session."""
    name = challenge.parameters.get("algorithm", "").upper() or "MD5"
    return name.removesuffix(SESSION), name.endswith(SESSION)


def _can_answer(challenge: Challenge) -> bool:
    known = challenge.parameters
    name = ALGORITHMS.get(_digest_algorithm(challenge)[0])
    has_hash = name is not None and name in hashlib.algorithms_available
    return (
        has_hash and {"realm", "nonce"} <= known.keys() and _supported_protection(known) is not None
    )


def _supported_protection(parameters: Mapping[str, str]) -> str | None:
    """The quality of protection to choose; "" if the server offers none, None if we support none of
    its offers.
    """
    if "qop" not in parameters:
        return ""
    offered = [word.strip().lower() for word in parameters["qop"].split(",")]
    return next((one for one in ("auth", "auth-int") if one in offered), None)


def basic_authorization(user: str, password: str) -> str:
    """The answer in UTF-8. A server that names a character set must name this one (RFC 7617,
    section 2.1).
    """
    return f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"


@dataclass
class DigestSession:
    """The answers to one challenge; the object counts its requests."""

    challenge: Challenge
    user: str
    password: str
    client_nonce: str = field(default_factory=lambda: token_hex(8))
    count: int = 0

    def is_for(self, other: DigestSession) -> bool:
        """Whether this session answers the same challenge with the same secret."""
        return (self.challenge, self.user, self.password) == (
            other.challenge,
            other.user,
            other.password,
        )

    def answer(self, method: str, target: str, body: bytes) -> str:
        """The Authorization field for a request. target: the target of the request."""
        self.count += 1
        asked = self.challenge.parameters
        response = self._response(method, target, body)
        said = {
            **self._user_parameters(),
            "realm": _quoted_string(asked["realm"]),
            "nonce": _quoted_string(asked["nonce"]),
            "uri": _quoted_string(target),
            "response": _quoted_string(response),
        }
        if asked.get("algorithm"):
            said["algorithm"] = asked["algorithm"]
        if "opaque" in asked:
            said["opaque"] = _quoted_string(asked["opaque"])
        if protection := _supported_protection(asked):
            count, own = f"{self.count:08x}", _quoted_string(self.client_nonce)
            said |= {"qop": protection, "nc": count, "cnonce": own}
        elif _digest_algorithm(self.challenge)[1]:
            said["cnonce"] = _quoted_string(self.client_nonce)
        # headers are latin-1 here; RFC 7616 writes names in the encoding that is hashed, UTF-8
        words = ", ".join(f"{key}={value}" for key, value in said.items())
        return f"Digest {words}".encode().decode("latin-1")

    def _user_parameters(self) -> dict[str, str]:
        """The parameters with the user's name, in the form that the server understands (section
        3.4.4).
        """
        asked = self.challenge.parameters
        if asked.get("userhash", "").lower() == "true":
            hashed = self._hash()(f"{self._normalized(self.user)}:{asked['realm']}".encode())
            return {"username": _quoted_string(hashed), "userhash": "true"}
        user = self._normalized(self.user)
        if user.isascii() or not self._is_utf_8:
            return {"username": _quoted_string(user)}
        return {"username*": f"UTF-8''{quote(user, safe='')}"}

    @property
    def _is_utf_8(self) -> bool:
        return self.challenge.parameters.get("charset", "").upper() == "UTF-8"

    def _normalized(self, text: str) -> str:
        return normalize("NFC", text) if self._is_utf_8 else text

    def _hash(self) -> Callable[[bytes], str]:
        name = ALGORITHMS[_digest_algorithm(self.challenge)[0]]
        return lambda data: hashlib.new(name, data, usedforsecurity=False).hexdigest()

    def _response(self, method: str, target: str, body: bytes) -> str:
        """Section 3.4.1."""
        hashed, asked = self._hash(), self.challenge.parameters
        secret = hashed(
            ":".join(
                (self._normalized(self.user), asked["realm"], self._normalized(self.password))
            ).encode()
        )
        if _digest_algorithm(self.challenge)[1]:
            secret = hashed(f"{secret}:{asked['nonce']}:{self.client_nonce}".encode())
        protection = _supported_protection(asked)
        asking = f"{method}:{target}"
        if protection == "auth-int":
            asking = f"{asking}:{hashed(body)}"
        parts = [secret, asked["nonce"], hashed(asking.encode())]
        if protection:
            parts[2:2] = [f"{self.count:08x}", self.client_nonce, protection]
        return hashed(":".join(parts).encode())


def _quoted_string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

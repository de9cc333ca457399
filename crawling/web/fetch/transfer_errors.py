"""The errors of an exchange: libcurl's codes as exceptions of requests, and these exceptions as our
statuses.
"""

from __future__ import annotations

import os
import re

import pycurl
from requests import exceptions as requests

from crawling.web.statuses import FetchStatus

#: OpenSSL's words for lasting faults: no common protocol or cipher, or no TLS at all. Any other
#: failure of a handshake is temporary: a server that restarts, a full queue, a middlebox (RFC 8446,
#: section 6)
FINAL_TLS = re.compile(
    r"wrong version number|unsupported protocol|protocol version|no protocols available|no "
    r"shared cipher|handshake failure"
    r"|insufficient security|inappropriate fallback|too small|packet length too long|http "
    r"request|unsafe legacy|unknown protocol"
    r"|unexpected message|bad record type|record layer failure|certificate required|legal"
)
#: libcurl's words for invalid answers, which it reports like broken-off ones
AGAINST_RULES = re.compile(r"chunk hex-length|Malformed encoding|Too large response headers")
#: CURLE_PROXY and CURLE_TOO_LARGE, for which pycurl has no names
E_PROXY, E_TOO_LARGE = 97, 100
#: CURLE_WEIRD_SERVER_REPLY under its old name
E_WEIRD_SERVER_REPLY = pycurl.E_FTP_WEIRD_SERVER_REPLY
#: answers of a proxy about the server behind it: those of SOCKS5 (RFC 1928, section 6) by libcurl's
#: numbers, and those of HTTP
UNREACHED_BY_SOCKS = {23, 24, 27, 28}  # PX_REPLY_CONNECTION_REFUSED and similar codes
UNREACHED_BY_CONNECT = {502, 503, 504}


class StaleConnection(requests.ChunkedEncodingError):
    """A kept connection was closed before the first byte of the answer. The server may not be at
    fault.
    """


class AnswerTooSlow(requests.ReadTimeout):
    """An answer did not end within its longest time. Another try would take as long."""


class ForbiddenConnect(requests.ConnectionError):
    """The server requests a connection to a forbidden address."""


#: faults with a single meaning; any other fault means that the answer broke off
_FAULTS: dict[int, type[requests.RequestException]] = {
    pycurl.E_URL_MALFORMAT: requests.InvalidURL,
    pycurl.E_OPERATION_TIMEDOUT: requests.ConnectTimeout,
    pycurl.E_PEER_FAILED_VERIFICATION: requests.SSLError,
    pycurl.E_SSL_CERTPROBLEM: requests.SSLError,
    pycurl.E_SSL_CIPHER: requests.SSLError,
    E_WEIRD_SERVER_REPLY: requests.InvalidHeader,
    pycurl.E_BAD_CONTENT_ENCODING: requests.InvalidHeader,
    E_TOO_LARGE: requests.InvalidHeader,
    pycurl.E_UNSUPPORTED_PROTOCOL: requests.InvalidHeader,
}


def fault_of(curl: pycurl.Curl, code: int, said: str) -> requests.RequestException:
    """The exception for a code of libcurl."""
    refusal = curl.getinfo(pycurl.HTTP_CONNECTCODE)
    if code == E_PROXY or refusal >= 300:
        is_reached = (
            curl.getinfo(pycurl.PROXY_ERROR) in UNREACHED_BY_SOCKS
            or refusal in UNREACHED_BY_CONNECT
        )
        return requests.ConnectionError(said) if is_reached else requests.ProxyError(said)
    if code == pycurl.E_COULDNT_CONNECT:
        why = f"{said}: {os.strerror(curl.getinfo(pycurl.OS_ERRNO))}"
        return (
            requests.ProxyError(why)
            if curl.getinfo(pycurl.USED_PROXY)
            else requests.ConnectionError(why)
        )
    if code == pycurl.E_SSL_CONNECT_ERROR and FINAL_TLS.search(said.lower()):
        return requests.SSLError(said)
    if code == pycurl.E_RECV_ERROR and AGAINST_RULES.search(said):
        return requests.InvalidHeader(said)
    return _FAULTS.get(code, requests.ChunkedEncodingError)(said)


def fetch_status_of_fault(fault: requests.RequestException) -> FetchStatus:
    """The status of a fault: the server refused the connection, fell silent, or broke off."""
    for kind, status in _STATUSES:
        if isinstance(fault, kind):
            return status
    return FetchStatus.BROKEN_ANSWER


#: the first exception that fits counts, so special cases precede general ones
_STATUSES: list[tuple[type[requests.RequestException], FetchStatus]] = [
    (AnswerTooSlow, FetchStatus.TOO_SLOW),
    (requests.Timeout, FetchStatus.TIMED_OUT),
    (requests.SSLError, FetchStatus.TLS_FAILED),
    (requests.ProxyError, FetchStatus.PROXY_FAILED),
    (ForbiddenConnect, FetchStatus.ADDRESS_REFUSED),
    (requests.ConnectionError, FetchStatus.CONNECT_FAILED),
    (requests.ContentDecodingError, FetchStatus.UNDECODABLE),
    (requests.InvalidHeader, FetchStatus.MALFORMED),
    (requests.InvalidURL, FetchStatus.MALFORMED),
]

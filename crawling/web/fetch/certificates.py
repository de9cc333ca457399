"""When a server's certificate ends, as libcurl tells of the handshake that it made."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime

import pycurl

#: what libcurl calls it
ENDS = b"Expire date"


def certificate_end(curl: pycurl.Curl) -> datetime | None:
    """Of the certificate that the server's name stands in, which was verified; None: libcurl tells
    of none.

    Other certificates that the server has sent with it do not count: old roots among them are not
    in use.
    """
    for certificate in curl.getinfo_raw(pycurl.INFO_CERTINFO)[:1]:
        for name, value in certificate:
            if name == ENDS:
                return _moment(value)
    return None


def _moment(text: bytes) -> datetime | None:
    try:
        return datetime.fromtimestamp(ssl.cert_time_to_seconds(text.decode("ascii")), UTC)
    except (ValueError, OverflowError, OSError):  # a year that no clock reaches
        return None

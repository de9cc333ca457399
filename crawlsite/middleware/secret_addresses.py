"""Keeps the secret parts of addresses, which give access to anyone who knows them, out of all lines
of the log.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence

from structlog.typing import WrappedLogger

#: the hosts of this machine; a leading dot includes all names below, as in Django's ALLOWED_HOSTS
THIS_MACHINE = ("127.0.0.1", ".localhost", "[::1]")
#: the beginning of a path with a secret part, and that part
HIDDEN = r"""/(?:news|open|shared(?:/collections)?|stored|watches)/)[^/\s'"?]++"""
Hiding = Callable[[str], str]


def address_hider(hosts: Sequence[str] = ()) -> Hiding:
    """Return a function that replaces secret parts by …, in paths, which a quotation mark or white
    space may precede, and in addresses of these hosts and of this machine. Addresses of crawled
    sites are unchanged.
    """
    own = "|".join(map(_pattern_of, (*THIS_MACHINE, *hosts)))
    begin = rf"""(?:^|[\s'"(=]|://(?i:{own})(?::\d++)?)"""
    secret = re.compile(f"({begin}{HIDDEN}", re.MULTILINE)
    return lambda text: secret.sub(r"\1…", text)


def _pattern_of(host: str) -> str:
    below = r"(?:[\w-]++\.)*" if host.startswith(".") else ""
    return below + re.escape(host.removeprefix("."))


def log_processor(hides: Hiding) -> Callable[[WrappedLogger, str, str], str]:
    """Return the last processor of log lines. It hides secrets, since requests, errors and
    tracebacks may quote an address.
    """
    return lambda logger, method, line: hides(line)


class SecretAddressFilter(logging.Filter):
    """For loggers that write on their own, like gunicorn's."""

    def __init__(self, hides: Hiding) -> None:
        super().__init__()
        self._hides = hides

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = self._hides(record.getMessage()), ()
        if record.exc_info:
            # a formatter uses this text as the traceback
            record.exc_text = self._hides(logging.Formatter().formatException(record.exc_info))
        return True


def hide_secrets_in_gunicorn_logs(hosts: Sequence[str]) -> None:
    """Keep secret parts of addresses out of gunicorn's own log lines."""
    log = logging.getLogger("gunicorn.error")
    if not any(isinstance(one, SecretAddressFilter) for one in log.filters):
        log.addFilter(SecretAddressFilter(address_hider(hosts)))

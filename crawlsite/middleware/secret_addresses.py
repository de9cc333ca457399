"""Secret parts of addresses, which open something to everyone who has them, are in no line of the
log.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence

from structlog.typing import WrappedLogger

#: hosts of this machine; as in Django's ALLOWED_HOSTS, a dot stands for all names below, too
THIS_MACHINE = ("127.0.0.1", ".localhost", "[::1]")
#: the beginning of a path with a secret part, and the part
HIDDEN = r"""/(?:news|open|shared(?:/collections)?|stored|watches)/)[^/\s'"?]++"""
Hiding = Callable[[str], str]


def hiding(hosts: Sequence[str] = ()) -> Hiding:
    """A function that puts … for secret parts: of paths, before which a quote or white space may
    stand, and of addresses of these hosts and this machine. Addresses of crawled sites stay whole.
    """
    own = "|".join(map(_pattern_of, (*THIS_MACHINE, *hosts)))
    begin = rf"""(?:^|[\s'"(=]|://(?i:{own})(?::\d++)?)"""
    secret = re.compile(f"({begin}{HIDDEN}", re.MULTILINE)
    return lambda text: secret.sub(r"\1…", text)


def _pattern_of(host: str) -> str:
    below = r"(?:[\w-]++\.)*" if host.startswith(".") else ""
    return below + re.escape(host.removeprefix("."))


def processor_of(hides: Hiding) -> Callable[[WrappedLogger, str, str], str]:
    """The last processor of log lines: requests, errors and tracebacks may quote an address."""
    return lambda logger, method, line: hides(line)


class SecretAddressFilter(logging.Filter):
    """For loggers that write by themselves, as gunicorn's does."""

    def __init__(self, hides: Hiding) -> None:
        super().__init__()
        self._hides = hides

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = self._hides(record.getMessage()), ()
        if record.exc_info:
            # a formatter takes this text for the traceback
            record.exc_text = self._hides(logging.Formatter().formatException(record.exc_info))
        return True


def keep_secrets_of_gunicorn(hosts: Sequence[str]) -> None:
    """Let the web server's own lines have no secrets of addresses."""
    log = logging.getLogger("gunicorn.error")
    if not any(isinstance(one, SecretAddressFilter) for one in log.filters):
        log.addFilter(SecretAddressFilter(hiding(hosts)))

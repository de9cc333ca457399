"""Secret parts of addresses, which open something to everyone who has them, are in no line of the
log.
"""

from __future__ import annotations

import logging
import re

from structlog.typing import WrappedLogger

#: addresses with a part that opens something to everyone who has it: at the begin of a path, which
#: a quote, white space or an origin may stand before
SECRET_ADDRESS = re.compile(
    r"""((?:^|[\s'"(=]|://[^/\s'"]++)/(?:news|open|shared(?:/collections)?|stored|watches)/)"""
    r"""[^/\s'"?]++""",
    re.MULTILINE,
)


def without_secrets(text: str) -> str:
    return SECRET_ADDRESS.sub(r"\1…", text)


def hide_secrets(logger: WrappedLogger, method: str, line: str) -> str:
    """The last processor of log lines: requests, errors and tracebacks may quote an address."""
    return without_secrets(line)


class SecretAddressFilter(logging.Filter):
    """For loggers that write by themselves, as gunicorn's does."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = without_secrets(record.getMessage()), ()
        return True


def keep_secrets_of_gunicorn() -> None:
    """Let the web server's own lines have no secrets of addresses."""
    log = logging.getLogger("gunicorn.error")
    if not any(isinstance(one, SecretAddressFilter) for one in log.filters):
        log.addFilter(SecretAddressFilter())

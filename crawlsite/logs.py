"""How log lines look: for people on a terminal, or one JSON object a line for machines. A secret
part of an address is in none of them.
"""

from __future__ import annotations

import logging
import re
from typing import Any

import structlog
from structlog.typing import WrappedLogger

from crawlsite.middleware.request_ids import add_request_id

#: addresses with a part that opens something to everyone who has it: at the begin of a path, which
#: a quote, white space or an origin may stand before
SECRET_ADDRESS = re.compile(
    r"""((?:^|[\s'"(=]|://[^/\s'"]++)/(?:news|open|shared|stored|watches)/)[^/\s'"?]++""",
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


class RefusalLogFilter(logging.Filter):
    """Django logs each answer of 429 or 503: a program that is refused a hundred times a second
    would fill the disk.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        return not getattr(getattr(record, "request", None), "is_refused", False)


def logging_setting(*, level: str, style: str) -> dict[str, Any]:
    """Return Django's LOGGING; both styles show the caller's `extra` beside the message."""
    # Rich tracebacks, the default, would print what local variables hold (passwords, tokens), and
    # take a tenth of a second each.
    for_people = structlog.dev.ConsoleRenderer(
        colors=False, exception_formatter=structlog.dev.plain_traceback
    )
    renderer = structlog.processors.JSONRenderer() if style == "json" else for_people
    shared = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        add_request_id,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": shared,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    renderer,
                    hide_secrets,
                ],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "filters": {"refusals": {"()": RefusalLogFilter}},
        "loggers": {
            "axes.apps": {"level": "WARNING"},  # it says of each command that it is there
            "django.request": {"filters": ["refusals"]},
        },
        "root": {"handlers": ["stderr"], "level": level},
    }

"""The format of log lines: for people on a terminal, or one JSON object a line for machines. No
line contains a secret part of an address.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import structlog

from crawlsite.middleware.request_ids import add_request_id
from crawlsite.middleware.secret_addresses import address_hider, log_processor


class RefusalLogFilter(logging.Filter):
    """Leaves out the lines that Django logs for answers of 429 and 503, since a program that is
    refused a hundred times a second would fill the disk.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        return not getattr(getattr(record, "request", None), "is_refused", False)


def logging_setting(*, level: str, style: str, own_hosts: Sequence[str] = ()) -> dict[str, Any]:
    """Return Django's LOGGING. Both styles show the caller's `extra` next to the message.

    own_hosts: hosts whose addresses may have secret parts, besides those of this machine.
    """
    # the default, rich tracebacks, prints the values of local variables (passwords, tokens), and
    # takes a tenth of a second each
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
                    log_processor(address_hider(own_hosts)),
                ],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "filters": {"refusals": {"()": RefusalLogFilter}},
        "loggers": {
            # this logger writes at each command that it is installed
            "axes.apps": {"level": "WARNING"},
            # it tells where it found its settings
            "botocore": {"level": "WARNING"},
            "django.request": {"filters": ["refusals"]},
        },
        "root": {"handlers": ["stderr"], "level": level},
    }

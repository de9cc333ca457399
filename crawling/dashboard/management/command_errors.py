"""The errors of all commands: one clear sentence and an exit status, never a traceback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.db import OperationalError, ProgrammingError
from django.urls import reverse
from redis.exceptions import RedisError

from allocation.errors import AllocationError
from crawling.base.errors import BadOrder, CrawlError
from crawling.jobs.rq_jobs import live_workers

REMEDY = "start everything with `make run`, or give this command the STATE_DIR of it."


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn expected errors into a CommandError with a remedy."""
    try:
        yield
    except (CrawlError, AllocationError) as error:
        raise CommandError(str(error)) from error
    except ValidationError as error:
        raise CommandError(" ".join(error.messages)) from error
    except OperationalError as error:
        raise CommandError(
            f"No database answers; {REMEDY} ({str(error).splitlines()[0]})"
        ) from error
    except ProgrammingError as error:
        raise CommandError(
            "The database is not set up; run `make run` or `manage.py migrate`. "
            f"({str(error).splitlines()[0]})"
        ) from error
    except RedisError as error:
        raise CommandError(f"Redis does not answer; {REMEDY} ({error})") from error


def refusal_error(what: str, error: BadOrder) -> CommandError:
    """The error for a refused action, with a line for each wrong field."""
    return CommandError("\n  ".join([what, *map(": ".join, error.errors.items())]))


def read_json_object(path: Path, option: str) -> dict[str, Any]:
    """The object in a file. Raises CommandError, which names the option."""
    try:
        fields = json.loads(path.read_text())
    except OSError as error:
        raise CommandError(f"{option}: {error.strerror}: {path}") from error
    except ValueError as error:
        raise CommandError(f"{option}: {path} is not JSON: {error}") from error
    except RecursionError as error:
        raise CommandError(f"{option}: {path} is no order: it is nested too deep") from error
    if not isinstance(fields, dict):
        raise CommandError(
            f"{option}: {path} must hold one JSON object with the fields of an order"
        )
    return fields


def page_address(name: str, *args: Any) -> str:
    """The address of a page of the dashboard, for a browser."""
    return settings.DASHBOARD_URL.rstrip("/") + reverse(name, args=args)


def require_worker() -> None:
    """Raise CommandError if there is no worker."""
    if not live_workers():
        raise CommandError(
            "No worker is running, so the crawl would never begin; start everything with `make "
            "run`."
        )

"""All settings that the environment can change, read once and checked.

An invalid value stops the start with a sentence that names the variable. Nothing else in the
project reads `os.environ`.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from environs import Env, EnvError, ValidationError, validate

from crawlsite import service_addresses

BASE_DIR = Path(__file__).resolve().parent.parent
DEFAULT_PORT = 8000


class BadSetting(Exception):
    """An environment variable has a value that cannot be used."""


@dataclass(frozen=True)
class Environment:
    """The settings: one field for each variable, in lower case. The table in docs/settings.md has
    the same order.
    """

    database_url: str
    database_direct_url: str
    redis_url: str
    state_dir: Path
    secret_key: str
    debug: bool
    host: str
    port: int
    public_url: str
    workers: int
    browser_pages: int
    web_processes: int
    web_threads: int
    demo: bool
    demo_port: int
    replay_port: int
    replay_url: str
    dns_servers: tuple[tuple[str, int], ...]
    dns_ahead: str
    dns_ahead_first: str
    bank_lease_seconds: float
    bank_pickup_seconds: float
    crawl_slice_seconds: float
    crawls_waiting_max: int
    archive_dir: Path
    archive_url: str
    archive_file_bytes: int
    seed_dir: Path
    import_dir: Path
    checkpoint_dir: Path | None
    checkpoint_minutes: float
    checkpoints_kept: int
    mail_url: str
    mail_from: str
    api_requests_a_minute: int
    log_level: str
    log_format: str

    @classmethod
    def names(cls) -> list[str]:
        """The variables' names, in the order of the fields."""
        return [field.name.upper() for field in fields(cls)]


def read() -> Environment:
    """Read and check all settings. Raises BadSetting, which names the wrong variable.

    Missing addresses are those of the embedded servers of STATE_DIR, whether these are running or
    not.
    """
    try:
        return _read_environment(Env())
    except EnvError as error:
        raise BadSetting(f"{error} See docs/settings.md.") from error
    except OSError as error:
        raise BadSetting(
            f'Environment variable "STATE_DIR" invalid: no directory can be kept there ({error}).'
        ) from error


def embedded_server_names() -> tuple[str, ...]:
    """The embedded servers that are needed: those whose address is not set."""
    wanted = {"postgres": "DATABASE_URL", "valkey": "REDIS_URL"}
    return tuple(server for server, variable in wanted.items() if not os.environ.get(variable))


def child_environment(changes: Mapping[str, str]) -> dict[str, str]:
    """This process's environment with `changes`. The programs of this Python come first on its
    PATH.
    """
    programs = str(Path(sys.executable).parent)
    return {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        **changes,
    }


def adopt(environment: Mapping[str, str]) -> None:
    """Set the environment of this process, and so that of its forked children."""
    os.environ.update(environment)


#: the names that S3 allows
BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_POSITIVE = validate.Range(min=0, min_inclusive=False)


def _read_environment(env: Env) -> Environment:
    state_dir = Path(env.str("STATE_DIR", str(BASE_DIR / ".local"))).expanduser().resolve()
    return Environment(
        state_dir=state_dir,
        secret_key=env.str("SECRET_KEY", "") or _kept_secret(state_dir),
        debug=env.bool("DEBUG", False),
        demo=env.bool("DEMO", True),
        demo_port=env.int("DEMO_PORT", 8010, validate=validate.Range(1, 65535)),
        log_level=env.str(
            "LOG_LEVEL", "INFO", validate=validate.OneOf(["DEBUG", "INFO", "WARNING", "ERROR"])
        ),
        log_format=env.str("LOG_FORMAT", "console", validate=validate.OneOf(["console", "json"])),
        **_read_servers(env, state_dir),
        **_read_web_settings(env),
        **_read_crawl_settings(env, state_dir),
    )


def _read_servers(env: Env, state_dir: Path) -> dict[str, Any]:
    return {
        "database_url": env.str(
            "DATABASE_URL", "", validate=_scheme_check("postgresql", "postgres")
        )
        or service_addresses.database_url(state_dir),
        "database_direct_url": env.str(
            "DATABASE_DIRECT_URL", "", validate=_scheme_check("postgresql", "postgres")
        ),
        "redis_url": env.str(
            "REDIS_URL", "", validate=[_scheme_check("redis", "rediss", "unix"), _check_port_number]
        )
        or service_addresses.redis_url(state_dir),
        "dns_servers": tuple(
            _read_server(text) for text in env.list("DNS_SERVERS", [], subcast=str)
        ),
        "dns_ahead": env.str(
            "DNS_AHEAD", "gate", validate=validate.OneOf(["gate", "ungated", "off"])
        ),
        "dns_ahead_first": env.str(
            "DNS_AHEAD_FIRST", "due", validate=validate.OneOf(["due", "linked"])
        ),
        "mail_url": env.str(
            "MAIL_URL",
            "",
            validate=[_scheme_check("smtp", "smtp+tls", "smtps"), _check_host, _check_port_number],
        ),
        "mail_from": env.str("MAIL_FROM", "crawlsite@localhost", validate=_check_mailbox),
    }


def _read_web_settings(env: Env) -> dict[str, Any]:
    return {
        "host": env.str("HOST", "127.0.0.1", validate=validate.Length(min=1)),
        "port": env.int("PORT", DEFAULT_PORT, validate=validate.Range(1, 65535)),
        "public_url": env.str(
            "PUBLIC_URL",
            "",
            validate=[_scheme_check("https", "http"), _check_origin, _check_port_number],
        ).rstrip("/"),
        "web_processes": env.int("WEB_PROCESSES", 2, validate=validate.Range(1, 64)),
        "web_threads": env.int("WEB_THREADS", 8, validate=validate.Range(1, 64)),
        "replay_port": env.int("REPLAY_PORT", 8020, validate=validate.Range(1, 65535)),
        "replay_url": env.str(
            "REPLAY_URL",
            "",
            validate=[
                _scheme_check("https", "http"),
                _check_origin,
                _check_port_number,
                _check_names_below,
            ],
        ).rstrip("/"),
        "api_requests_a_minute": env.int(
            "API_REQUESTS_A_MINUTE", 600, validate=validate.Range(1, 1_000_000)
        ),
    }


def _read_crawl_settings(env: Env, state_dir: Path) -> dict[str, Any]:
    archive = env.str("ARCHIVE_DIR", "") or str(state_dir / "archive")
    seeds = env.str("SEED_DIR", "") or str(state_dir / "seeds")
    imports = env.str("IMPORT_DIR", "") or str(state_dir / "imports")
    checkpoints = env.str("CHECKPOINT_DIR", "")
    return {
        "workers": env.int("WORKERS", 2, validate=validate.Range(1, 64)),
        "browser_pages": env.int("BROWSER_PAGES", 4, validate=validate.Range(0, 64)),
        "bank_lease_seconds": env.float("BANK_LEASE_SECONDS", 60.0, validate=_POSITIVE),
        "bank_pickup_seconds": env.float("BANK_PICKUP_SECONDS", 120.0, validate=_POSITIVE),
        "crawl_slice_seconds": env.float("CRAWL_SLICE_SECONDS", 60.0, validate=_POSITIVE),
        "crawls_waiting_max": env.int(
            "CRAWLS_WAITING_MAX", 20_000, validate=validate.Range(1, 10**6)
        ),
        "archive_dir": _read_directory("ARCHIVE_DIR", archive),
        "archive_url": env.str(
            "ARCHIVE_URL", "", validate=[_scheme_check("s3"), _check_bucket]
        ).rstrip("/"),
        "archive_file_bytes": env.int("ARCHIVE_FILE_BYTES", 10**9, validate=_POSITIVE),
        "seed_dir": _read_directory("SEED_DIR", seeds),
        "import_dir": _read_directory("IMPORT_DIR", imports),
        "checkpoint_dir": _read_directory("CHECKPOINT_DIR", checkpoints) if checkpoints else None,
        "checkpoint_minutes": env.float("CHECKPOINT_MINUTES", 60.0, validate=_POSITIVE),
        "checkpoints_kept": env.int("CHECKPOINTS_KEPT", 3, validate=validate.Range(1, 1000)),
    }


def _scheme_check(*schemes: str) -> Callable[[str], None]:
    def check_scheme(value: str) -> None:
        if value and _split_url(value).scheme not in schemes:
            raise ValidationError(
                f"It must begin with {' or '.join(f'{scheme}://' for scheme in schemes)}."
            )

    return check_scheme


def _check_origin(value: str) -> None:
    parts = _split_url(value)
    if value and (
        not parts.hostname or parts.path not in ("", "/") or parts.query or parts.fragment
    ):
        raise ValidationError(
            "It must be scheme, host and perhaps port, like https://crawls.example.org."
        )


def _check_bucket(value: str) -> None:
    parts = _split_url(value)
    if value and (not BUCKET.fullmatch(parts.netloc) or parts.query or parts.fragment):
        raise ValidationError("It must be a bucket and perhaps a prefix, like s3://bucket/prefix.")


def _check_host(value: str) -> None:
    if value and not _split_url(value).hostname:
        raise ValidationError(
            "It must name a server, like smtp://user:password@mail.example.org:587."
        )


def _check_mailbox(value: str) -> None:
    if "@" not in value or not value.isprintable():
        raise ValidationError("It must be a mailbox, like crawls@example.org.")


def _check_names_below(value: str) -> None:
    name = (_split_url(value).hostname or "").rstrip(".")
    if value and ("." not in name or name.rpartition(".")[2].isdecimal()):
        raise ValidationError(
            "It must name a host below which each run has a name of its own, like "
            "https://replay.example.net, where run-7.replay.example.net leads there, too."
        )


def _check_port_number(value: str) -> None:
    try:
        _ = _split_url(value).port
    except ValueError as error:
        raise ValidationError(f"{error}.") from error


def _split_url(value: str) -> SplitResult:
    try:
        return urlsplit(value)
    except ValueError as error:
        raise ValidationError(f"It is no address: {error}.") from error


def _read_server(text: str) -> tuple[str, int]:
    """Address and port of `192.0.2.1`, `192.0.2.1:5353` or `[2001:db8::1]:53`."""
    parts = urlsplit(f"//{text.strip()}")
    try:
        address, port = parts.hostname, parts.port
    except ValueError as error:
        raise EnvError(f'Environment variable "DNS_SERVERS" invalid: {text!r}: {error}.') from error
    if not address:
        raise EnvError(
            f'Environment variable "DNS_SERVERS" invalid: {text!r} is not address or address:port.'
        )
    return address, port or 53


def _read_directory(name: str, text: str) -> Path:
    path = Path(text).expanduser().resolve()
    parent = next(one for one in (path, *path.parents) if one.exists())
    if not parent.is_dir():
        raise EnvError(f'Environment variable "{name}" invalid: {parent} is no directory.')
    return path


def _kept_secret(state_dir: Path) -> str:
    """The secret key stored in STATE_DIR. It is created at the first use, so that log-ins survive a
    restart.
    """
    path = state_dir / "secret_key"
    try:
        return path.read_text()
    except FileNotFoundError:
        pass
    state_dir.mkdir(parents=True, exist_ok=True)
    fresh = state_dir / f"secret_key.{os.getpid()}"
    fresh.touch(mode=0o600)
    fresh.write_text(secrets.token_urlsafe(50))
    try:
        os.link(fresh, path)  # the first link wins, and no process reads a partial key
    except FileExistsError:
        pass
    finally:
        fresh.unlink()
    return path.read_text()

"""The embedded servers of one state directory. They have one owner at a time, are started together
and stopped in order.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from crawlsite.service_addresses import URLS_FILE, database_url, redis_url
from crawlsite.services import postgres, valkey
from crawlsite.services.account import Account, choose_account
from crawlsite.services.binaries import PostgresPrograms, find_postgres, find_valkey
from crawlsite.services.child import (
    Child,
    birth_note,
    kernel_signals_orphans,
    live_process,
    notes_dir,
    start_child,
    stop_all,
    stop_left_over,
)
from crawlsite.services.directories import LockFile, make_private, make_sockets_dir
from crawlsite.services.stops import StartError
from crawlsite.services.watchdog import start_watchdog

GROUP = "servers"
# The caller's values are never used: LANG may name a locale that does not exist, and PG* variables
# affect the server, too.
FIXED_ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
LEFT_OVER_SECONDS = 30
OTHER_OWNER_SECONDS = 120


class EmbeddedServers:
    """PostgreSQL and Valkey, or only one of them if the other's address was given."""

    def __init__(
        self,
        state_dir: Path,
        *,
        wanted: tuple[str, ...] = ("postgres", "valkey"),
        loose: bool = False,
    ) -> None:
        self.state_dir = state_dir
        self.wanted = wanted
        self.loose = loose
        self.addresses = {"DATABASE_URL": database_url(state_dir)} if "postgres" in wanted else {}
        self.addresses |= {"REDIS_URL": redis_url(state_dir)} if "valkey" in wanted else {}
        self._lock = LockFile(state_dir / "servers.lock")
        self._running: dict[str, Child] = {}
        self._watchdog: subprocess.Popen[bytes] | None = None

    def start(self, pause: Callable[[float], None] = time.sleep, *, join: bool = False) -> None:
        """Start the wanted servers and wait until they answer. With `join`, servers that another
        owner runs are used.

        Raises StartError. `stop` must be called after an error, too, and after one that `pause`
        raises.
        """
        if not self.wanted:
            return
        try:
            self.state_dir.mkdir(parents=True, exist_ok=True)
            if not self._become_owner(pause, join=join):
                return
        except OSError as error:
            raise StartError(
                f"this user can keep no servers in {self.state_dir} ({error})"
            ) from error
        self._choose_programs()
        make_sockets_dir(self.state_dir, self._account)
        if not kernel_signals_orphans():
            self._watchdog = start_watchdog(notes_dir(self.state_dir, GROUP))
        for name in self.wanted:
            self._launch(name)
        for name in self.wanted:
            self._await(name, pause)
        self._write_urls()

    def revive(self, pause: Callable[[float], None]) -> list[str]:
        """Start the servers again that have died. Return their names."""
        died = [name for name, server in self._running.items() if server.poll_end()]
        for name in died:
            self._launch(name, again=True)
            self._await(name, pause)
        return died

    def stop(self) -> None:
        """Stop Valkey, then PostgreSQL, unless another process owns them."""
        if self._lock.fd < 0:
            return
        (self.state_dir / URLS_FILE).unlink(missing_ok=True)
        for name in ("valkey", "postgres"):
            stop_all([self._running.pop(name)] if name in self._running else [])
        if self._watchdog:
            self._watchdog.communicate()
        self._lock.release()

    def _become_owner(self, pause: Callable[[float], None], *, join: bool) -> bool:
        """Take the lock that every server inherits, after stopping the servers that a killed owner
        has left. Return False if the servers of another owner are joined.
        """
        mine = birth_note(os.getpid())
        until = time.monotonic() + LEFT_OVER_SECONDS
        while not self._lock.acquire(mine):
            if owner := live_process(self._lock.note()):
                if not join:
                    raise StartError(
                        f"the servers of {self.state_dir} are in use by process {owner}: wait "
                        "until it ends, or stop it"
                    )
                return not self._join(pause)
            if time.monotonic() > until:
                raise StartError(
                    f"servers that an earlier start left behind in {self.state_dir} do not end; "
                    f"see {self.state_dir / 'logs'}"
                )
            stop_left_over(notes_dir(self.state_dir, GROUP))
            pause(0.1)
        return True

    def _join(self, pause: Callable[[float], None]) -> bool:
        until = time.monotonic() + OTHER_OWNER_SECONDS
        while time.monotonic() < until:
            if (urls := self.state_dir / URLS_FILE).exists():
                if missing := [name for name in self.addresses if name not in urls.read_text()]:
                    raise StartError(
                        f"the servers that run in {self.state_dir} were started without "
                        f"{missing[0]}"
                    )
                return True
            pause(0.1)
        raise StartError(
            f"the servers that another process starts in {self.state_dir} do not get ready; see "
            f"{self.state_dir / 'logs'}"
        )

    def _choose_programs(self) -> None:
        self._postgres: PostgresPrograms | None = (
            find_postgres() if "postgres" in self.wanted else None
        )
        self._valkey: Path | None = find_valkey() if "valkey" in self.wanted else None
        programs = [self._postgres.postgres] if self._postgres else []
        self._account: Account = choose_account(
            self.state_dir, [*programs, *([self._valkey] if self._valkey else [])]
        )

    def _launch(self, name: str, *, again: bool = False) -> None:
        stops: tuple[tuple[signal.Signals, float], ...]
        words: list[str | Path]
        if self._postgres and name == "postgres":
            data = postgres.prepare_data(
                self._postgres, self.state_dir, self._account, FIXED_ENVIRONMENT
            )
            words, stops = (
                postgres.server_command(self._postgres, data, self.state_dir, loose=self.loose),
                postgres.STOPS,
            )
        else:
            assert self._valkey
            data = make_private(self.state_dir / "valkey", self._account)
            words, stops = (
                valkey.server_command(self._valkey, data, self.state_dir, loose=self.loose),
                valkey.STOPS,
            )
        self._running[name] = start_child(
            words,
            name=name,
            state_dir=self.state_dir,
            group=GROUP,
            env=FIXED_ENVIRONMENT,
            cwd=Path("/"),
            stops=stops,
            account=self._account,
            pass_fds=[self._lock.fd],
            again=again,
        )

    def _await(self, name: str, pause: Callable[[float], None]) -> None:
        (postgres if name == "postgres" else valkey).await_ready(
            self._running[name], self.state_dir, pause
        )

    def _write_urls(self) -> None:
        path = self.state_dir / URLS_FILE
        path.unlink(missing_ok=True)
        path.touch(mode=0o600)
        path.write_text(
            "".join(f"{name}={shlex.quote(value)}\n" for name, value in self.addresses.items())
        )

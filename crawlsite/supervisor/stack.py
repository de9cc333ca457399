"""The running product: servers, preparations, processes. They are started in this order and stopped
in the reverse order.
"""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

from crawlsite import env
from crawlsite.env import Environment
from crawlsite.services.child import (
    kernel_signals_orphans,
    notes_dir,
    stop_all,
    stop_left_over,
)
from crawlsite.services.embedded_servers import EmbeddedServers
from crawlsite.services.stops import StartError, StopSignals
from crawlsite.services.watchdog import start_watchdog
from crawlsite.supervisor.preload import Preload
from crawlsite.supervisor.process import GROUP, SupervisedProcess, prepare
from crawlsite.supervisor.procfile import local_address, read_procfile, variables

LEFT_OVER_SECONDS = 30
READY_SECONDS = 60
#: the longest time until the end of a process is noticed; it is started again after a wait
LOOK_SECONDS = 1.0


class Stack:
    def __init__(self, environment: Environment, procfile: Path, signals: StopSignals) -> None:
        self.environment = environment
        self.signals = signals
        self.state_dir = environment.state_dir
        self.pair = EmbeddedServers(self.state_dir, wanted=env.embedded_server_names())
        values = variables(environment, platform=sys.platform)
        self.plan = read_procfile(procfile, environment, values)
        self.child_env = env.child_environment(
            {**self.pair.addresses, **values, "STATE_DIR": str(self.state_dir)}
        )
        self.preload = Preload(self.child_env, self.plan)
        self.processes: list[SupervisedProcess] = []
        self._watchdog: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        """Start all and keep the product running.

        This ends only by StopRequested, or by StartError before the product is ready.
        """
        self._clear_left_over()
        if self.pair.wanted:
            print_line(
                "starting "
                + " and ".join(
                    {"postgres": "PostgreSQL", "valkey": "Valkey"}[name]
                    for name in self.pair.wanted
                )
            )
        self.preload.start()
        self.pair.start(self.signals.pause)
        self.preload.wait(self.signals.pause)
        for command in self.plan.release:
            prepare(
                command,
                env=self.child_env,
                work=self.preload.work_of(command),
                pause=self.signals.pause,
            )
        if not kernel_signals_orphans():
            self._watchdog = start_watchdog(notes_dir(self.state_dir, GROUP))
        print_line("starting " + ", ".join(self.plan.commands))
        for name, command in self.plan.commands.items():
            self.processes.append(
                SupervisedProcess(
                    name,
                    command,
                    state_dir=self.state_dir,
                    env=self.child_env,
                    work=self.preload.work_of(command),
                )
            )
        self._await_ready()
        while True:
            self._watch()
            self.signals.pause(LOOK_SECONDS)

    def stop(self) -> None:
        """Stop every process, then Valkey, then PostgreSQL: within 10 s, even if they do not
        respond.
        """
        stop_all([process.child for process in self.processes])
        if self._watchdog:
            self._watchdog.communicate()
        self.pair.stop()
        self.preload.end()

    def _clear_left_over(self) -> None:
        """Stop the processes that a killed supervisor has left. On Linux the kernel has signalled
        them, and they may need a moment to end.
        """
        until = time.monotonic() + LEFT_OVER_SECONDS
        while stop_left_over(notes_dir(self.state_dir, GROUP)):
            if time.monotonic() > until:
                raise StartError(
                    "processes of an earlier start do not end; their numbers stand in "
                    f"{notes_dir(self.state_dir, GROUP)}"
                )
            self.signals.pause(0.5)

    def _watch(self) -> None:
        try:
            for name in self.pair.revive(self.signals.pause):
                print_line(f"{name} had ended and was started again; see {self.state_dir / 'logs'}")
        except StartError as error:
            print_line(f"{error}\nTrying again.")
            self.signals.pause(1.0)
        for process in self.processes:
            if news := process.watch():
                print_line(news)

    def _await_ready(self) -> None:
        until = time.monotonic() + READY_SECONDS
        while not self._answers():
            self._watch()
            if time.monotonic() > until:
                print_line(
                    f"not ready after {READY_SECONDS} s; see {self.state_dir / 'logs'}. Waiting on."
                )
                until = float("inf")
            self.signals.pause(0.1)
        print_line("ready; Ctrl-C stops everything")

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection(
            urlsplit(local_address(self.environment)).netloc, timeout=2
        )
        try:
            connection.request("GET", "/healthz", headers={"Host": "localhost"})
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def print_line(line: str) -> None:
    """Print to the terminal at once, even through a pipe.

    If the reader has gone away (`make run | head -1`), the product runs on.
    """
    try:
        print(line, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

"""Creates and starts the embedded PostgreSQL and waits for it. The server gets a part of the memory
that the machine, or the container around it, has. The caller holds the lock of the embedded
servers.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
from psycopg import sql

from crawlsite.service_addresses import DATABASE, ROLE, database_url, sockets_dir
from crawlsite.services.account import Account
from crawlsite.services.binaries import PostgresPrograms
from crawlsite.services.child import Child
from crawlsite.services.directories import make_private, open_log
from crawlsite.services.stops import StartError

#: fast: refuse new work and write everything out; immediate: recover at the next start
STOPS = ((signal.SIGINT, 2.0), (signal.SIGQUIT, 0.5), (signal.SIGKILL, 0.3))
LOOSE = ("-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
MIB = 1024 * 1024
ROOMY_SHARED_MEMORY_BYTES = 16 * MIB
#: The share of the usable memory for tables and indexes, within bounds. With the usual 128 MB a
#: frontier of millions of URLs, whose links lead anywhere, is read from and written to files page
#: by page (docs/decisions/0143). A page of 8 KiB that is not used takes 120 bytes
BUFFERS_PART, LEAST_BUFFERS_MIB, MOST_BUFFERS_MIB = 12, 128, 4096
#: The size of the log between two checkpoints; after each of them a page is logged whole at its
#: first change. After a crash the whole log is read again
MOST_LOG_MIB = 2048


def prepare_data(
    programs: PostgresPrograms, state_dir: Path, account: Account, env: Mapping[str, str]
) -> Path:
    """The data directory of this major version, which is made if there is none.

    Raises StartError for a data directory of another version.
    """
    data = state_dir / f"pg{programs.major}"
    _check_version(data, programs, state_dir)
    if not data.exists():
        _initialise(programs, data, account, env)
    make_private(data, account)
    _drop_stale_pid_file(data)
    return data


def server_command(
    programs: PostgresPrograms, data: Path, state_dir: Path, *, loose: bool
) -> list[str | Path]:
    """The server's command line. It listens on no TCP port, so the private directory of its socket
    protects it.
    """
    words: list[str | Path] = [
        programs.postgres,
        "-D",
        data,
        "-k",
        sockets_dir(state_dir),
        "-p",
        "5432",
        "-c",
        "listen_addresses=",
    ]
    memory = (f"shared_buffers={_buffers_mib()}MB", f"max_wal_size={MOST_LOG_MIB}MB")
    words += [word for setting in ("max_connections=200", *memory) for word in ("-c", setting)]
    return [*words, *_shared_memory("-c"), *(LOOSE if loose else ())]


def _buffers_mib() -> int:
    part = usable_bytes() // (BUFFERS_PART * MIB)
    return min(MOST_BUFFERS_MIB, max(LEAST_BUFFERS_MIB, part))


def await_ready(server: Child, state_dir: Path, pause: Callable[[float], None]) -> None:
    """Wait until the server answers, as long as its process lives; recovery after a crash may take
    long.
    """
    while True:
        if server.poll_end():
            raise StartError(f"PostgreSQL ended while starting. {last_lines(server.log)}")
        try:
            with psycopg.connect(
                database_url(state_dir, database="postgres"), autocommit=True, connect_timeout=2
            ) as connection:
                _create_database(connection)
            return
        except psycopg.OperationalError:
            pause(0.05)


def last_lines(log: Path) -> str:
    """The last lines of a log, for an error message."""
    return f"The end of {log}:\n" + "\n".join(log.read_text(errors="replace").splitlines()[-8:])


def _create_database(connection: psycopg.Connection) -> None:
    if not connection.execute("SELECT FROM pg_database WHERE datname = %s", [DATABASE]).rowcount:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))


def _check_version(data: Path, programs: PostgresPrograms, state_dir: Path) -> None:
    written = {
        path.parent: int(text)
        for path in sorted(state_dir.glob("pg[0-9]*/PG_VERSION"))
        # an initdb that was killed may have left it empty
        if (text := path.read_text().strip().split(".")[0])
    }
    foreign = {path: major for path, major in written.items() if major != programs.major}
    if not foreign or written.get(data) == programs.major:
        return
    path, major = foreign.popitem()
    connect = f"--host {sockets_dir(state_dir)} --username {ROLE} {DATABASE}"
    raise StartError(
        f"{path} was written by PostgreSQL {major}, and the server at hand is {programs.major}. "
        "To carry the data over, start it once with "
        f"PostgreSQL {major}, save it with `pg_dump {connect} > crawlsite.sql`, move {path} "
        f"away, start the product, and load it with `psql {connect} < crawlsite.sql`."
    )


def _initialise(
    programs: PostgresPrograms, data: Path, account: Account, env: Mapping[str, str]
) -> None:
    """Make the data directory under another name first, since an initdb that is killed leaves a
    directory that looks complete.
    """
    unfinished = data.with_name(f"{data.name}.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    make_private(unfinished, account)
    log = open_log(data.parent / "logs", "initdb")
    try:
        subprocess.run(  # noqa: S603 - our own paths
            _initdb_command(programs, unfinished),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=dict(env),
            check=True,
            preexec_fn=account.before_exec,
            **account.popen_arguments(),
        )
    except subprocess.CalledProcessError as error:
        raise StartError(
            f"PostgreSQL's initdb failed. {last_lines(data.parent / 'logs' / 'initdb.log')}"
        ) from error
    finally:
        os.close(log)
    unfinished.rename(data)


def _initdb_command(programs: PostgresPrograms, data: Path) -> list[str | Path]:
    # The builtin provider sorts alike on every system and does not change with its C library.
    locale = (
        ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        if programs.major >= 17
        else ["--locale=C"]
    )
    words: list[str | Path] = [
        programs.initdb,
        "-D",
        data,
        "-U",
        ROLE,
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--no-instructions",
        *locale,
    ]
    return words + (_shared_memory("--set") if programs.major >= 16 else [])


def _shared_memory(option: str) -> list[str]:
    """Keep shared memory in files if /dev/shm lacks space: some containers give it 64 KiB, and
    initdb fails there.
    """
    try:
        found = os.statvfs("/dev/shm")  # noqa: S108 - asked for its size only
    except OSError:
        return []
    roomy = found.f_frsize * found.f_blocks >= ROOMY_SHARED_MEMORY_BYTES
    return [] if roomy else [option, "dynamic_shared_memory_type=mmap"]


def _drop_stale_pid_file(data: Path) -> None:
    """Remove the file with the number of a server that crashed: the number may now be another
    program's, and PostgreSQL would refuse to start.

    None of our servers runs, since each inherits the lock. A server that was started by hand has
    its data directory as its working directory.
    """
    path = data / "postmaster.pid"
    if not path.exists():
        return
    words = path.read_text().split()  # the file is empty if the server was killed while writing it
    try:
        if words and Path(psutil.Process(int(words[0])).cwd()) == data.resolve():
            raise StartError(
                f"{data} is served by process {words[0]}, which was started by hand: stop it first"
            )
    except psutil.Error:
        pass  # the process is gone, or is another account's, which cannot serve a private directory
    path.unlink()


#: the control groups of this process, and where the kernel shows their limits
GROUPS, LIMITS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def usable_bytes(*, groups: Path = GROUPS, limits: Path = LIMITS) -> int:
    """The least of the machine's memory and the limits of this process's control groups, and of the
    groups around those (cgroups(7), versions 1 and 2).
    """
    return min([psutil.virtual_memory().total, *_limits(groups, limits)])


def _limits(groups: Path, limits: Path) -> Iterator[int]:
    for line in groups.read_text().splitlines() if groups.exists() else ():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            yield from _values_around(limits, path, "memory.max")
        elif "memory" in controllers.split(","):
            yield from _values_around(limits / "memory", path, "memory.limit_in_bytes")


def _values_around(root: Path, path: str, name: str) -> Iterator[int]:
    """The values of a group and of the groups around it; in a container the paths may be those of
    the machine, and only the root is visible.
    """
    group = root / path.lstrip("/")
    for folder in (group, *group.parents):
        with suppress(OSError, ValueError):  # there is no such group, or its limit is `max`
            yield int((folder / name).read_text())
        if folder == root:
            return

"""State directories and programs for the tests of the embedded servers and the supervisor."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crawlsite.services.account import choose_account
from crawlsite.services.binaries import find_postgres
from crawlsite.services.embedded_servers import FIXED_ENVIRONMENT, EmbeddedServers
from crawlsite.services.postgres import prepare_data
from tests.crawlsite.supervised import Supervisor


@pytest.fixture(scope="session")
def make_place() -> Iterator[Callable[..., Path]]:
    """Makes directories with short names that all accounts may enter, or only their owner."""
    made = []

    def make(mode: int = 0o755) -> Path:
        path = Path(tempfile.mkdtemp(prefix="cs-")).resolve()
        path.chmod(mode)
        made.append(path)
        return path

    yield make
    for path in made:
        shutil.rmtree(path)


@pytest.fixture
def place(make_place: Callable[..., Path]) -> Path:
    return make_place()


@pytest.fixture(scope="session")
def lay_data(make_place: Callable[..., Path]) -> Callable[[Path], None]:
    """Copies PostgreSQL's data into a state directory as initdb makes them, which takes a second
    and a half of the processor each time; tests of initdb do without this.
    """
    made, programs = make_place(), find_postgres()
    account = choose_account(made, [programs.postgres])
    data = prepare_data(programs, made, account, FIXED_ENVIRONMENT)

    def lay(state_dir: Path) -> None:
        if not list(state_dir.glob("pg*")):
            state_dir.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "-a", data, state_dir], check=True)

    return lay


@pytest.fixture
def laid(place: Path, lay_data: Callable[[Path], None]) -> Path:
    """A state directory with the data of a PostgreSQL that has not run yet."""
    lay_data(place)
    return place


@pytest.fixture
def start_pair(lay_data: Callable[[Path], None]) -> Iterator[Callable[..., EmbeddedServers]]:
    """Starts pairs in this process, and stops them when the test ends; `bare`: without a copy of
    initdb's data.
    """
    started = []

    def start(state_dir: Path, *, bare: bool = False, **options) -> EmbeddedServers:
        if not bare:
            lay_data(state_dir)
        pair = EmbeddedServers(state_dir, **options)
        started.append(pair)
        pair.start()
        return pair

    yield start
    for pair in started:
        pair.stop()


@pytest.fixture(scope="module")
def running(make_place: Callable[..., Path], lay_data) -> Iterator[EmbeddedServers]:
    """A running pair that tests only read from."""
    state_dir = make_place() / "state"
    lay_data(state_dir)
    pair = EmbeddedServers(state_dir)
    pair.start()
    yield pair
    pair.stop()


@pytest.fixture
def start(place, lay_data):
    """Starts supervisors on one state directory, and ends them when the test ends."""
    started = []

    def start(procfile: str, **changes: str) -> Supervisor:
        if "DATABASE_URL" not in changes:
            lay_data(place / "state")
        started.append(Supervisor(place / "state", procfile, **changes))
        return started[-1]

    yield start
    for supervisor in started:
        supervisor.process.terminate()
        supervisor.process.wait(timeout=60)

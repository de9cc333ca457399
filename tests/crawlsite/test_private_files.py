"""The files that crawlsite keeps are for its own account and group alone, also those that were kept
before.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

from crawling.base.storage import DirectoryStorage
from crawlsite import private_files
from crawlsite.env import child_environment
from crawlsite.health import probes
from crawlsite.private_files import deny_others, keep_private, places_open_to_others
from tests.crawlsite.programs import PROJECT, needs_root

#: what an earlier version left, with the permissions that it had
OLD = {
    "secret_key": 0o600,
    "static/app.css": 0o644,
    "archive/run4/a.warc.gz": 0o640,
    "archive/links4/0.texts.parquet": 0o644,
    "archive/mirror12/mirror.zip": 0o644,
    "archive/search/segments/1.store": 0o644,
    "logs/web.log": 0o600,
}


@pytest.fixture
def umask():
    """The umask of most systems; and that of the tests afterwards."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def old(make_place, umask):
    place = make_place()
    state = place / "state"
    for name, mode in OLD.items():
        path = state / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("PAR1")
        path.chmod(mode)
    (state / "pg18").mkdir(mode=0o700)
    (state / "pg18" / "inside").write_text("closed by the directory above")
    (place / "elsewhere").write_text("of somebody else")
    (state / "archive" / "link").symlink_to(place / "elsewhere")
    return state


def modes(folder: Path) -> dict[str, int]:
    return {
        str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode)
        for path in [folder, *folder.rglob("*")]
        if not path.is_symlink()
    }


def test_what_an_earlier_version_left_is_closed(old):
    deny_others((old, old / "archive"))

    left = {name: mode for name, mode in modes(old).items() if mode & 0o007}
    assert left == {"pg18/inside": 0o644}
    assert stat.S_IMODE((old.parent / "elsewhere").stat().st_mode) == 0o644
    assert modes(old)["archive/links4/0.texts.parquet"] == 0o640
    assert modes(old)["secret_key"] == 0o600


def test_the_outer_directories_are_closed_first_however_much_is_in_them(old):
    deny_others((old, old / "archive"), most=0)

    assert (modes(old)["."], modes(old)["archive"]) == (0o750, 0o750)
    assert modes(old)["archive/links4/0.texts.parquet"] == 0o644  # cannot be reached
    deny_others((old / "nothing", old))


def test_what_is_deleted_meanwhile_breaks_nothing_off(old, monkeypatch):
    entries = private_files._entries_below

    def as_others_delete(waiting):
        for entry in entries(waiting):
            if entry.name == "app.css":
                os.unlink(entry.path)
            yield entry

    monkeypatch.setattr(private_files, "_entries_below", as_others_delete)
    deny_others((old,))

    assert not (old / "static/app.css").exists()
    assert modes(old)["archive/links4/0.texts.parquet"] == 0o640


@needs_root
def test_another_account_reads_nothing(old):
    parquet = old / "archive/links4/0.texts.parquet"
    script = f"cat {parquet} || cat {old}/secret_key || ls {old} || ls {old}/archive"
    command = ["/bin/sh", "-c", script]
    nobody = {"user": "nobody", "group": "nogroup", "extra_groups": [], "capture_output": True}
    before = subprocess.run(command, cwd="/", check=False, **nobody)
    assert before.stdout == b"PAR1"

    deny_others((old,))

    assert subprocess.run(command, cwd="/", check=False, **nobody).stdout == b""


def test_a_release_closes_the_state_directory_and_the_archive(old, settings, db):
    settings.STATE_DIR, settings.ARCHIVE_DIR = old, old / "archive"
    settings.STATIC_ROOT, settings.DEMO = old / "static", False

    call_command("release")

    assert not [name for name, mode in modes(old).items() if mode & 0o007 and "pg18" not in name]


def test_what_is_stored_from_now_on_is_closed(tmp_path, umask):
    keep_private()
    archive = DirectoryStorage(tmp_path / "archive")
    archive.put("links1/0.parquet", [b"PAR1"])
    archive.append("run1/a.warc.gz", 0).close()
    (archive.workspace("search") / "0.store").write_text("")

    assert {mode & 0o007 for mode in modes(tmp_path / "archive").values()} == {0}


def test_a_stricter_umask_stays(umask):
    os.umask(0o077)
    keep_private()

    assert os.umask(0) == 0o077


UMASK_OF = "import os, {}; print(oct(os.umask(0)))"


@pytest.mark.parametrize(
    "command",
    [
        [sys.executable, "manage.py", "shell", "-v", "0", "-c", UMASK_OF.format("sys")],
        [sys.executable, "-c", UMASK_OF.format("crawlsite.wsgi")],
        [
            *(sys.executable, "-c"),
            "import os; from crawlsite.replay.origin import make_application; make_application(); "
            "print(oct(os.umask(0)))",
        ],
        [
            *(sys.executable, "-c"),
            "import os, sys; from crawlsite.services.__main__ import main; "
            "sys.argv[1:] = ['exec', 'nothing']; main(); print(oct(os.umask(0)))",
        ],
    ],
    ids=["manage.py", "web", "replay", "services"],
)
def test_every_process_keeps_its_files_private(command, tmp_path, umask):
    env = child_environment({"DATABASE_URL": os.environ["DATABASE_URL"], "REPLAY_PORT": "1"})
    done = subprocess.run(command, cwd=PROJECT, env=env, capture_output=True, text=True, check=True)

    assert done.stdout.split()[-1] == "0o27"


@pytest.mark.django_db
def test_health_tells_of_a_directory_that_others_can_enter(old, settings, admin_client):
    settings.STATE_DIR, settings.ARCHIVE_DIR = old, old / "archive"
    assert f"can enter {old} and {old / 'archive'}" in admin_client.get("/health/").text
    old.chmod(0o750)
    assert "Private files" not in [part.name for part in probes.component_health()]
    assert places_open_to_others([old / "archive", old / "nothing"]) == []

"""A stored file is written and read through one door."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from crawling.base.errors import ArchiveTrouble
from crawling.base.storage import DirectoryStorage

ROOT = Path(__file__).parents[3]
OF_THE_DIRECTORY = {"archive_folder", "archive_disk"}
#: slots are locks of this machine, and the disk is measured; neither reads or writes what is stored
BESIDE_THE_DOOR = {
    "crawling/archive/files.py",
    "crawling/models/archive.py",
    "crawling/runs/steering.py",
    "crawling/runs/housekeeping/disk.py",
}


@pytest.fixture
def storage(tmp_path):
    return DirectoryStorage(tmp_path / "archive")


def test_a_file_is_put_listed_read_from_an_offset_cut_and_deleted(storage):
    assert storage.put("run1/a", [b"one", b"two"]) == 6

    assert storage.list("run1") == {"a": 6}
    with storage.open("run1/a", 2) as file:
        assert file.read() == b"etwo"
    storage.cut("run1/a", 3)
    assert storage.size("run1/a") == 3
    storage.delete("run1/a")
    storage.delete("run1/a")
    assert storage.size("run1/a") is None
    storage.delete_folder("run1")
    assert storage.list("run1") == {}


def test_a_file_that_was_put_in_part_is_not_there(storage):
    def broken():
        yield b"half"
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        storage.put("run1/a", broken())

    assert storage.list("run1") == {}
    assert storage.size("run1/a") is None


def test_what_was_put_in_part_takes_no_room(storage, tmp_path):
    def broken():
        yield b"half"
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        storage.put("run1/a", broken())
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == []

    storage.put("run1/b", [b"whole"])
    storage.path("run1/b.unfinished").write_bytes(b"of a job that was killed")
    storage.delete("run1/b")
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == []


def test_appending_continues_behind_the_committed_bytes(storage):
    file = storage.append("run1/a", 0)
    file.write(b"committed, and torn")
    file.close()

    file = storage.append("run1/a", 9)
    file.write(b"!")
    file.sync()
    file.close()

    with storage.open("run1/a") as stored:
        assert stored.read() == b"committed!"
    with pytest.raises(ArchiveTrouble, match="is shorter"):
        storage.append("run1/a", 11)


@pytest.mark.parametrize("name", ["/etc/passwd", "run1/../../x", "a", "run1/a/b", "run1/.hidden"])
def test_no_name_leads_out_of_the_storage(storage, name):
    with pytest.raises(ArchiveTrouble, match="outside"):
        storage.open(name)


def test_nothing_else_knows_where_stored_files_are():
    """Modules of the product that name the archive's directory, or take a path from a row."""
    knowing = {
        str(path.relative_to(ROOT))
        for folder in ("crawling", "crawlsite", "experiments", "serving")
        for path in (ROOT / folder).rglob("*.py")
        if _names_the_directory(path)
    }
    assert knowing == BESIDE_THE_DOOR


def _names_the_directory(path):
    text = path.read_text()
    if not any(name in text for name in OF_THE_DIRECTORY):
        return False  # to parse all modules takes seconds
    names = {
        getattr(node, "id", "") or getattr(node, "name", "") for node in ast.walk(ast.parse(text))
    }
    return not OF_THE_DIRECTORY.isdisjoint(names)


def test_zeros_are_stored_without_being_written(tmp_path):
    stored = DirectoryStorage(tmp_path)
    zeros = bytes(100_000)

    assert stored.put("run1/a", [b"begin", zeros, b"end", zeros]) == 200_008

    with stored.open("run1/a") as file:
        assert file.read() == b"begin" + zeros + b"end" + zeros

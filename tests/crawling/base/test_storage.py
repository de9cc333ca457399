"""A stored file is written and read through one door, whether it is in a directory or a bucket."""

from __future__ import annotations

import ast
import os
import random
from pathlib import Path

import pytest

from crawling.base import bucket
from crawling.base.bucket import BucketRefuses, BucketStorage
from crawling.base.errors import ArchiveTrouble
from crawling.base.storage import DirectoryStorage
from tests.crawling.buckets import BUCKET, answer, forget_clients, relay_to, use_server

ROOT = Path(__file__).parents[3]
OF_THE_DIRECTORY = {"archive_folder", "archive_disk"}
#: slots are locks of this machine, and the disk is measured; neither reads or writes what is stored
BESIDE_THE_DOOR = {
    "crawling/archive/files.py",
    "crawling/models/archive.py",
    "crawling/runs/steering.py",
    "crawling/runs/housekeeping/disk.py",
}


@pytest.fixture(params=["directory", "moto", "rclone"])
def storage(request, tmp_path):
    if request.param == "directory":
        return DirectoryStorage(tmp_path / "archive")
    port = request.getfixturevalue("bucket_servers")(request.param)
    use_server(request.getfixturevalue("monkeypatch"), port)
    return in_bucket(tmp_path)


@pytest.fixture
def relay(bucket_servers, monkeypatch):
    """A relay before a server that the process uses."""
    monkeypatch.setattr(bucket, "WAIT_SECONDS", 0.01)
    with relay_to(bucket_servers("moto")) as relay:
        use_server(monkeypatch, relay.port)
        yield relay


def in_bucket(folder: Path, name: str = BUCKET) -> BucketStorage:
    """A prefix of its own."""
    return BucketStorage(f"s3://{name}/of/{folder.name}", DirectoryStorage(folder / "archive"))


def test_a_file_is_put_listed_read_from_an_offset_and_deleted(storage):
    assert storage.put("run1/a", [b"one", b"two"]) == 6

    assert storage.list("run1") == {"a": 6}
    with storage.open("run1/a", 2) as file:
        assert file.read() == b"etwo"
    assert storage.size("run1/a") == 6
    assert storage.path("run1/a").read_bytes() == b"onetwo"
    storage.delete("run1/a")
    storage.delete("run1/a")
    assert storage.size("run1/a") is None
    assert not storage.path("run1/a").exists()
    with pytest.raises(FileNotFoundError):
        storage.open("run1/a")
    storage.put("run1/b", [b""])
    storage.delete_folder("run1")
    assert storage.list("run1") == {}


def test_a_large_file_is_read_as_it_was_put(storage):
    data = random.Random(1).randbytes(20_000_000)

    storage.put("run1/a", [data[at : at + 999_999] for at in range(0, len(data), 999_999)])

    with storage.open("run1/a", 5) as file:
        assert file.read() == data[5:]
        file.seek(-10, 2)
        assert file.read() == data[-10:]
        file.seek(7)
        assert file.read(3) == data[7:10]


def test_a_file_that_was_put_in_part_is_not_there(storage):
    def broken():
        yield b"half"
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        storage.put("run1/a", broken())

    assert storage.list("run1") == {}
    assert storage.size("run1/a") is None


def test_what_was_put_in_part_takes_no_room(tmp_path):
    storage = DirectoryStorage(tmp_path / "archive")

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


def test_appending_continues_behind_the_committed_bytes(tmp_path):
    storage = DirectoryStorage(tmp_path)
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
    storage.cut("run1/a", 3)
    assert storage.size("run1/a") == 3


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


REFUSED = [
    (answer(403, "AccessDenied"), "refuses the credentials"),
    (answer(404, "NoSuchBucket"), "there is no bucket"),
    (answer(507, "XMinioStorageFull"), "is full"),
]


@pytest.mark.parametrize(("said", "sentence"), REFUSED)
def test_a_bucket_that_refuses_says_what_to_change(relay, tmp_path, said, sentence):
    storage = in_bucket(tmp_path)
    relay.always = said

    for step in (
        lambda: storage.put("run1/a", [b"x"]),
        lambda: storage.open("run1/a"),
        lambda: storage.list("run1"),
    ):
        with pytest.raises(BucketRefuses, match=sentence):
            step()


@pytest.mark.parametrize("kind", ["moto", "rclone"])
def test_a_wrong_bucket_is_no_missing_file(bucket_servers, kind, tmp_path, monkeypatch):
    use_server(monkeypatch, bucket_servers(kind))

    with pytest.raises(BucketRefuses, match="there is no bucket"):
        in_bucket(tmp_path, "another").size("run1/a")


def test_wrong_credentials_are_no_missing_file(bucket_servers, tmp_path, monkeypatch):
    use_server(monkeypatch, bucket_servers("rclone"))
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    forget_clients()

    with pytest.raises(BucketRefuses, match="check AWS_ACCESS_KEY_ID"):
        in_bucket(tmp_path).size("run1/a")


@pytest.mark.parametrize(
    "faults",
    [
        [answer(503, "SlowDown"), answer(500, "InternalError")],
        [None, None],  # the server gets the requests, and its answers are lost
        [500, 1_000_000],  # answers are cut off in the middle
    ],
)
def test_a_fault_of_a_moment_is_tried_again(relay, tmp_path, faults):
    storage, data = in_bucket(tmp_path), random.Random(2).randbytes(9_000_000)
    relay.faults = list(faults)
    storage.put("run1/a", [data])
    forget_clients()
    relay.faults = list(faults)

    with storage.open("run1/a") as file:
        assert file.read() == data
    assert storage.list("run1") == {"a": len(data)}


def test_a_bucket_that_cannot_be_reached_says_so(relay, tmp_path, monkeypatch):
    monkeypatch.setattr(bucket, "TRIES", 2)
    relay.always = answer(503, "SlowDown")

    with pytest.raises(OSError, match="the bucket crawls"):
        in_bucket(tmp_path).size("run1/a")


def test_a_copy_that_was_not_used_for_a_day_goes(bucket_servers, tmp_path, monkeypatch):
    use_server(monkeypatch, bucket_servers("moto"))
    storage = in_bucket(tmp_path)
    for name in ("run1/a", "run1/b"):
        storage.put(name, [b"x"])
    first = storage.path("run1/a")
    os.utime(first, (0, 0))

    storage.path("run1/b")

    assert not first.exists()
    assert storage.path("run1/a").read_bytes() == b"x"

"""A program is installed from the one package that has the known checksum."""

from __future__ import annotations

import hashlib
import io
import tarfile
from base64 import b64encode

import pytest

from crawlsite.replay.player import BadPackage, NpmPackage

KEPT = {"LICENSE": "LICENSE", "build/dist/program.jar": "program.jar"}


def program_with(integrity: str) -> NpmPackage:
    return NpmPackage(name="program", version="1.2.3", integrity=integrity, files=KEPT)


def test_only_the_package_with_the_known_checksum_is_installed(tmp_path):
    package = tmp_path / "package.tgz"
    with tarfile.open(package, "w:gz") as archive:
        for name in (*KEPT, "../../escaped"):
            info = tarfile.TarInfo(f"package/{name}")
            info.size = len(name)
            archive.addfile(info, io.BytesIO(name.encode()))
    other = program_with("sha512-other")
    with pytest.raises(BadPackage, match="has the checksum"):
        other.install(package, tmp_path)
    assert not other.is_installed(tmp_path)

    digest = hashlib.sha512(package.read_bytes()).digest()
    program = program_with("sha512-" + b64encode(digest).decode())
    program.install(package, tmp_path)
    program.install(package, tmp_path)

    found = {path.name: path.read_text() for path in program.folder(tmp_path).iterdir()}
    assert found == {name: source for source, name in KEPT.items()}
    assert program.is_installed(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"package.tgz", "program"}

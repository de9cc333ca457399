"""The files of others lie here as they were released."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
RELEASES = [
    path
    for root in ("static/vendor", "tests/browser/vendor")
    for path in sorted((PROJECT / root).iterdir())
]


def sums(release: Path) -> dict[str, str]:
    lines = (release / "SHA256SUMS").read_text().splitlines()
    return {name: digest for digest, name in (line.split(maxsplit=1) for line in lines)}


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
def test_vendored_files_are_unmodified(release):
    found = {
        name: hashlib.sha256((release / name).read_bytes()).hexdigest() for name in sums(release)
    }

    assert found == sums(release)


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
def test_every_vendored_file_is_among_the_sums_with_its_version_and_licence(release):
    kinds = (".js", ".css", ".svg", ".woff2")
    programs = {path.name for path in release.iterdir() if path.suffix in kinds}

    assert programs
    assert programs <= set(sums(release))
    assert list(release.glob("LICENSE*"))
    version = release.name.rpartition("-")[2]
    said = release / "package.json"  # for files that do not say it themselves
    assert (
        f'"version": "{version}"' in said.read_text()
        if said.exists()
        else all(version in (release / name).read_text()[:300] for name in programs)
    )

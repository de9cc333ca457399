"""The files of others lie here as they were released, and those that are built of them as they were
built.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from tests.webs.rendered.expected import FOLDER, SITES

PROJECT = Path(__file__).parent.parent
RELEASES = [
    path
    for root in ("static/vendor", "tests/browser/vendor")
    for path in sorted((PROJECT / root).iterdir())
]
#: of all sites that are built of packages
MOST_BUILT_BYTES = 2_000_000
BUILT_OF = json.loads((FOLDER / "sources" / "package.json").read_text())["dependencies"]


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


def test_built_sites_lie_as_they_were_built_and_are_small():
    files = [path for top in ("built", "licences") for path in (FOLDER / top).rglob("*.*")]
    found = {
        str(path.relative_to(FOLDER)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if path.is_file()
    }

    assert found == sums(FOLDER)
    assert {path.name for path in (FOLDER / "built").iterdir()} == set(SITES)
    assert sum((FOLDER / name).stat().st_size for name in found) < MOST_BUILT_BYTES


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_the_licences_of_a_built_site_name_its_packages_in_their_pinned_versions(site):
    path = FOLDER / "licences" / f"{site.name}.txt"
    text = path.read_text() if path.exists() else ""

    assert path.exists() == bool(site.packages)
    assert set(site.packages) <= set(re.findall(r"^Package: (\S+)", text, re.MULTILINE))
    versions = dict(re.findall(r"^Package: (\S+) (\d\S+)", text, re.MULTILINE))
    assert versions.items() <= {**versions, **BUILT_OF}.items()

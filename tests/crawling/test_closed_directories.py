"""No administrator can open this installation's own files, or the system's, to crawls."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.exceptions import ValidationError

from crawling.installation.identity import allowed_directories
from crawling.models import AllowedDirectory

SYSTEM = ["/proc/self", "/proc", "/sys", "/dev/shm", "/etc"]


def refusal(path) -> str:
    try:
        AllowedDirectory(path=str(path)).full_clean()
    except ValidationError as error:
        return str(error.message_dict["path"])
    return ""


@pytest.mark.django_db
@pytest.mark.parametrize("path", SYSTEM)
def test_directories_of_the_system_are_refused(path):
    assert "is not for crawls" in refusal(path)


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["STATE_DIR", "ARCHIVE_DIR", "BASE_DIR"])
def test_directories_of_the_installation_are_refused_with_all_around_them(name, settings, tmp_path):
    own = tmp_path / "around" / "own"
    (own / "inside").mkdir(parents=True)
    setattr(settings, name, own)
    (tmp_path / "link").symlink_to(own)

    links = (tmp_path / "link", tmp_path / "link/inside")
    for path in (own, own / "inside", tmp_path / "around", *links):
        assert "is not for crawls" in refusal(path), path
    assert refusal(tmp_path / "beside") == ""


def test_a_row_whose_directory_became_a_link_to_a_closed_one_counts_no_more(db, tmp_path, settings):
    settings.STATE_DIR = tmp_path / "state"
    settings.STATE_DIR.mkdir()
    papers, other = tmp_path / "papers", tmp_path / "other"
    for folder in (papers, other):
        folder.mkdir()
        AllowedDirectory.objects.create(path=str(folder))
    assert sorted(allowed_directories()) == sorted(map(str, (papers, other)))

    papers.rmdir()
    Path(papers).symlink_to(settings.STATE_DIR)

    assert allowed_directories() == [str(other)]

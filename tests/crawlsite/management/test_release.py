import pytest

from crawlsite.management.commands.release import MARK, collect_static_files


@pytest.fixture
def sheet(settings, tmp_path):
    """The only static file of this installation."""
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    settings.STATICFILES_DIRS = [tmp_path / "source"]
    settings.STATIC_ROOT = tmp_path / "collected"
    sheet = tmp_path / "source" / "sheet.css"
    sheet.parent.mkdir()
    sheet.write_text("p {}")
    return sheet


@pytest.mark.parametrize("change", ["content", "name", "storage", "cut off"])
def test_static_files_are_collected_again_only_if_something_changed(sheet, settings, change):
    collect_static_files()
    collected = settings.STATIC_ROOT / "sheet.css"
    collected.unlink()
    collect_static_files()
    assert not collected.exists()

    if change == "content":
        sheet.write_text("p { color: red }")
    elif change == "name":
        sheet.with_name("another.css").write_text("")
    elif change == "storage":
        kind = "whitenoise.storage.CompressedManifestStaticFilesStorage"
        settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": kind}}
    else:
        (settings.STATIC_ROOT / MARK).unlink()
    collect_static_files()

    assert collected.read_text() == sheet.read_text()

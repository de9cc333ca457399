"""The style sheets keep to the tokens: docs/decisions/0059 has why."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.core.management import call_command

from tests.test_line_lengths import TEMPLATES

PROJECT = Path(__file__).parent.parent
SHEETS = sorted((PROJECT / "static" / "design").glob("*.css"))
TOKENS = next(path for path in SHEETS if path.name == "tokens.css")
OTHERS = [path for path in SHEETS if path != TOKENS]
COLOUR = re.compile(r"(?<![\w&-])(#[0-9a-f]{3,8}\b|rgb\(|hsl\()", re.I)


def declarations(path: Path, name: str) -> list[str]:
    """The values of a property in a sheet."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    return re.findall(rf"(?<![\w-]){name}:\s*([^;}}]+)", text)


def test_there_are_five_sizes_of_type_and_four_gaps():
    assert len(re.findall(r"--text-\d:", TOKENS.read_text())) == 5
    assert len(re.findall(r"--gap-\d:", TOKENS.read_text())) == 4


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.name)
def test_a_size_of_type_is_one_of_the_five(path):
    sizes = declarations(path, "font-size")

    assert [size for size in sizes if not re.fullmatch(r"var\(--text-[1-5]\)|inherit", size)] == []


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.name)
def test_a_colour_is_a_token(path):
    drawn = re.sub(r"url\(\"data:[^\"]*\"\)", "", path.read_text())
    drawn = re.sub(r"dialog::backdrop \{[^}]*\}", "", drawn)  # dims whatever lies behind

    assert COLOUR.findall(drawn) == []


def test_every_icon_of_a_template_is_in_the_sheet_and_every_one_of_the_sheet_is_drawn():
    design = PROJECT / "static" / "design"
    known = dict(
        re.findall(
            r"\.i-([\w-]+) \{ --icon: var\((--drawn-[\w-]+)\)", (design / "icons.css").read_text()
        )
    )
    used = {
        name
        for path in TEMPLATES
        for name in re.findall(r"\bi-([a-z0-9-]+)[\"' ]", path.read_text())
    }
    asked = {
        name
        for path in design.glob("*.css")
        for name in re.findall(r"var\((--drawn-[\w-]+)\)", path.read_text())
    }
    drawn = re.findall(r"^  (--drawn-[\w-]+): url", (design / "drawings.css").read_text(), re.M)

    assert used
    assert used <= set(known)
    assert set(known.values()) <= asked
    assert asked == set(drawn)


def test_the_sheet_of_drawings_is_the_one_that_is_made_of_the_files(capsys):
    call_command("icons")

    assert capsys.readouterr().out == (PROJECT / "static/design/drawings.css").read_text()


def test_no_template_has_a_style_of_its_own():
    styled = [path.name for path in TEMPLATES if re.search(r"<style|\sstyle=", path.read_text())]

    assert styled == []

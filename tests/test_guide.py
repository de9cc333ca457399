"""The operator's guide speaks of what is there: every word in bold stands on a page, every link and
picture leads somewhere.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.core.management import get_commands

from crawlsite.env import BASE_DIR
from tests.test_line_lengths import TEMPLATES

GUIDE = (BASE_DIR / "docs" / "guide.md").read_text()
PAGES = "\n".join(path.read_text() for path in TEMPLATES)


@pytest.mark.parametrize("label", sorted(set(re.findall(r"\*\*([^*]+)\*\*", GUIDE)) - {"bold"}))
def test_what_the_guide_names_stands_on_a_page(label):
    assert label in PAGES


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#]+)\)", GUIDE))))
def test_links_and_pictures_of_the_guide_lead_somewhere(target):
    assert Path(BASE_DIR / "docs" / target).exists()


@pytest.mark.parametrize("command", sorted(set(re.findall(r"manage\.py (\w+)", GUIDE))))
def test_the_guide_names_commands_that_there_are(command):
    assert command in get_commands()


def test_the_guide_leads_to_the_role_of_a_user_by_the_names_of_pages():
    assert "*Administration*, *Users*, *Role*" in GUIDE
    assert "three groups" not in GUIDE
    assert all(f">{name}<" in PAGES for name in ("Administration", "Users", "Role"))

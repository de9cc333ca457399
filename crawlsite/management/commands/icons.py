"""The style sheet with the drawings of all icons: one request for all, not one for each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from crawlsite.env import BASE_DIR

DRAWINGS = BASE_DIR / "static" / "vendor" / "lucide-1.62.0"
HEAD = """\
/* The drawings of the icons, as data. `manage.py icons > static/design/drawings.css` makes this
   file of Lucide's files, which are under the ISC licence (static/vendor/lucide-1.62.0/LICENSE). */
"""
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
#: characters that end a string in CSS, or a part of a `data:` URL
ESCAPED = {ord("%"): "%25", ord("#"): "%23", ord("<"): "%3C", ord(">"): "%3E", ord('"'): "'"}


class Command(BaseCommand):
    help = "Print the style sheet with the drawings of all icons, static/design/drawings.css."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(sheet_of(sorted(DRAWINGS.glob("*.svg"))), ending="")


def sheet_of(drawings: list[Path]) -> str:
    """A style sheet with a property `--drawn-NAME` for each SVG file."""
    rows = (
        f'  --drawn-{path.stem}: url("data:image/svg+xml,{data_of(path.read_text())}");\n'
        for path in drawings
    )
    return HEAD + ":root {\n" + "".join(rows) + "}\n"


def data_of(drawing: str) -> str:
    """An SVG file, whose attributes have no quotes within, in the data of a `data:` URL."""
    line = " ".join(COMMENT.sub("", drawing).split())
    return line.replace("> <", "><").translate(ESCAPED)

"""Lines can be read without scrolling: Python's are ruff's business (E501), those of templates are
looked at here.
"""

from __future__ import annotations

from crawlsite.env import BASE_DIR

LONGEST = 200
#: of all pages, of each use of crawls and of the experiments
TEMPLATES = sorted(
    path
    for folder in (
        BASE_DIR / "templates",
        *(BASE_DIR / "crawling" / "uses").glob("*/templates"),
        BASE_DIR / "experiments" / "templates",
    )
    for path in folder.rglob("*.html")
)


def test_no_line_of_a_template_is_too_long_to_read():
    long = [
        f"{path.relative_to(BASE_DIR)}:{number}"
        for path in TEMPLATES
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > LONGEST
    ]
    assert long == []

"""Accessibility as axe-core sees it."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

AXE = Path(__file__).parent / "vendor" / "axe-core-4.14.1" / "axe.min.js"


#: a selector of each element would take longer than some rules, and nothing reads it
RUN = """axe.run(document, {resultTypes: ['violations'], selectors: false})
    .then(results => results.violations)"""


def on_all_pages(page: Page) -> None:
    """Have axe-core there on each page that is opened from now on: to send half a megabyte to the
    browser for each takes longer than some of its rules.
    """
    page.add_init_script(path=AXE)


def violations(page: Page) -> list[str]:
    """The faults that axe-core finds on the page as it looks now, a line for each rule and element.

    After a click the caller waits for what the click brings about: here it could still be the page
    before.
    """
    page.wait_for_load_state()
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text() + "; undefined")
    found = page.evaluate(RUN)
    return [
        f"{rule['id']}: {rule['help']}: {node['html'][:160]}"
        for rule in found
        for node in rule["nodes"]
    ]

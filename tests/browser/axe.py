"""Accessibility as axe-core sees it."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

AXE = Path(__file__).parent / "vendor" / "axe-core-4.14.1" / "axe.min.js"


def violations(page: Page) -> list[str]:
    """What axe-core finds wrong on the page as it looks now, a line for each rule and element.

    After a click the caller waits for what the click brings about: here it could still be the page
    before.
    """
    page.wait_for_load_state()
    page.evaluate(AXE.read_text() + "; undefined")
    found = page.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then(results => results.violations)"
    )
    return [
        f"{rule['id']}: {rule['help']}: {node['html'][:160]}"
        for rule in found
        for node in rule["nodes"]
    ]

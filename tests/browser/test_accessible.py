"""Every page, for whoever looks at it, in light and dark, on a desk and on a telephone."""

from __future__ import annotations

import pytest

from tests.browser.axe import violations

SCHEMES = ["light", "dark"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_log_in(browse, scheme):
    page = browse(None, "/login/", color_scheme=scheme)

    assert violations(page) == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_empty(browse, pool, scheme):
    page = browse("operator", "/crawls/", color_scheme=scheme)

    assert violations(page) == []

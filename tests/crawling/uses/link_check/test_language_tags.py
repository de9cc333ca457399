"""Codes of languages are looked up in the IANA registry."""

from __future__ import annotations

import pytest

from crawling.uses.link_check.dataset_problems import is_valid_language_tag

KNOWN = ["en", "en-gb", "zh-Hant-TW", "es-419", "de-de-1996", "sl-rozaj-biske", "zh-yue-hk", "iw"]
WHOLE = ["en-us-u-islamcal", "i-klingon", "x-mine"]
UNKNOWN = ["xx", "english", "en-uk", "gb-en", "de-419-de", "tw-zh-hant", "x"]
NONE = ["", "-", "en-", "en_us", "dé", "en-us" * 20]


@pytest.mark.parametrize("tag", KNOWN + WHOLE)
def test_registered_parts_in_their_order_are_a_language(tag):
    assert is_valid_language_tag(tag)


@pytest.mark.parametrize("tag", UNKNOWN + NONE)
def test_all_else_is_none(tag):
    assert not is_valid_language_tag(tag)

"""The extractors, as orders find them."""

from __future__ import annotations

from crawling.runs.crawls.named_rules import RulesLibrary
from crawling.uses.extraction.extractors import find, newest, save

LIBRARIES = (RulesLibrary(newest, find, save),)

"""The extractors, as orders look them up."""

from __future__ import annotations

from crawling.runs.crawls.extractor_rules import ExtractorSource
from crawling.uses.extraction.extractors import find_rules, newest_rules, save_rules

EXTRACTORS = (ExtractorSource(newest_rules, find_rules, save_rules),)

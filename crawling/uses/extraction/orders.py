"""The extractors, as orders look them up."""

from __future__ import annotations

from crawling.runs.crawls.extractor_rules import ExtractorSource
from crawling.uses.extraction.extractors import find, newest, save

EXTRACTORS = (ExtractorSource(newest, find, save),)

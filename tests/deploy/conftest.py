"""Directories for the servers of installations."""

from tests.crawlsite.conftest import make_place, place

__all__ = ["make_place", "place"]

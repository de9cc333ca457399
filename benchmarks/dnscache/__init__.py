"""Benchmarks of the cache of names."""

import crawlsite.wsgi  # noqa: F401 - sets Django up, before any model is imported

"""Measurements of the cache of names."""

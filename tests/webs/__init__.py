"""Webs for tests: one that follows from a few numbers."""

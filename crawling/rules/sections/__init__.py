"""Sections of a crawl's order: fields that belong together."""

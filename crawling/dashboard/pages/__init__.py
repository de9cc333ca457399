"""Fetched pages: lists, downloads, comparisons, reports."""

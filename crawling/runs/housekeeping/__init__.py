"""Deletion, retention, totals and the disk."""

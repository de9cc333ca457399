"""Deleting, retention, totals and the disk."""

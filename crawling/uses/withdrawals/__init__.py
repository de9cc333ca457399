"""Withdrawals: pages that are no longer shown, and whose records are removed from the files."""

"""Withdrawals: pages that are shown no more, and whose records leave the files."""

"""Decisions of the pool and their ledger."""

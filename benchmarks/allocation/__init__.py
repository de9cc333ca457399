"""Measurements of the pool's decisions and its ledger."""

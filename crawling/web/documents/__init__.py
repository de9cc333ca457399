"""The readers of documents of each kind.

One module a kind, found by `registry`; each reads anything and raises nothing (SEEDS W3, W9).
"""

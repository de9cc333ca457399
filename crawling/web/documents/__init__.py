"""What documents of each kind say.

One module a kind, found by `registry`; each reads anything and raises nothing (SEEDS W3, W9).
"""

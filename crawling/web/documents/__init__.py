"""The readers of documents of each kind.

Each kind has a module, which `registry` finds. It reads any input and raises nothing (SEEDS W3,
W9).
"""

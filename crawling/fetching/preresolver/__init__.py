"""The process that resolves names before they are needed: the frontier says which names, the pool
how many at a time.
"""

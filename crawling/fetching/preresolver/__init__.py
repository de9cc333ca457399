"""The process that resolves names before shifts need them. The frontier says which names, the pool
how many at a time.
"""

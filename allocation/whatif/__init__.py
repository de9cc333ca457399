"""States that somebody makes up to ask what would be.

Pure: nothing here knows the pool's tables, and nothing is kept.
"""

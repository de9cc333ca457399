"""Everything that the crawls of an installation share: identity, pools, permissions, and the log of
runs.
"""

"""The pages of a run.

Each function asks a fixed number of queries, and none counts URLs or pages.
"""

"""The pages of a run.

Each function makes a fixed number of queries, and none counts URLs or pages.
"""

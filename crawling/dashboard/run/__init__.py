"""The pages of a run.

Each function makes a fixed number of queries, none of which counts URLs or pages.
"""

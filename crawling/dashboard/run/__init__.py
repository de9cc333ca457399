"""What the pages of a run show.

Each function asks a fixed number of queries, and none counts URLs or pages.
"""

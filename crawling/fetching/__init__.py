"""The processes that fetch: the worker, its shifts, the pipeline that each URL of a shift passes,
and the pre-resolver beside them.
"""

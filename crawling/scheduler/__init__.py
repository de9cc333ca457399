"""The scheduler: one process that turns due rows of the database into RQ jobs, and cleans up after
lost processes. All its actions may be repeated. The rows in PostgreSQL decide; Redis only wakes
workers, so a loss of all its data costs a few seconds.
"""

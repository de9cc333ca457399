"""The scheduler: one process that turns due rows of the database into RQ jobs, and cleans up after
lost processes.

All its actions may be repeated. The truth is in PostgreSQL. Redis only wakes workers, and if Redis
loses all data, this costs a few seconds.
"""

"""The scheduler: one process that turns what the database says is due into RQ jobs, and cleans up
after the lost.

Everything it does may be done twice. The truth is in PostgreSQL; Redis only wakes workers, and a
Redis that lost everything costs some seconds.
"""

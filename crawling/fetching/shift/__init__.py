"""One turn of a run at the worker: its hosts, its fetch threads, its leases, its requests to the
pool.
"""

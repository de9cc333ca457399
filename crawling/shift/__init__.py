"""One turn of a run at the worker: its hosts, its toes, its leases, its dealings with the bank."""

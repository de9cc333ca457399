"""The RQ worker, and the process in which it performs jobs."""

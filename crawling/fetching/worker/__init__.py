"""The RQ worker, and the process that it gives to each job."""

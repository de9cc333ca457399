"""The link graph of each run: ranks and components of pages and hosts, computed by a job."""

"""The state of this site, for load balancers and people."""

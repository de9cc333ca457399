"""Whether this site works, for load balancers and people."""

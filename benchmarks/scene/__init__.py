"""The scenes that are measured: filled databases, sites, crawls, the product at work."""

"""Crawls: what operators order, the crawler that carries it out, and the dashboard above both."""

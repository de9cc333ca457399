"""Hosts of all crawls, and their names."""

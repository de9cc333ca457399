"""Measurements of crawls, and of the uses of their pages."""

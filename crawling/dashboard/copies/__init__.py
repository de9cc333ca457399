"""Copies of a run's pages: within it, in another run, and of a supplied text."""

"""Replay of stored pages: ReplayWeb.page on an origin for each run, and the way there."""

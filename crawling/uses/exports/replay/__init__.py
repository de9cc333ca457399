"""Replay of stored pages: ReplayWeb.page, with a separate origin for each run, and the way from the
dashboard to it.
"""

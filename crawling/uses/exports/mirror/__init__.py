"""Runs as files that a browser can open from a disk: each page in a file, with links between
them.
"""

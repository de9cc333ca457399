"""Runs as files that a browser opens from a disk: each page in a file, with links among them."""

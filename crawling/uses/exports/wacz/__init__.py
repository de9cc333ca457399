"""Runs as WACZ files: what is in the archive stays there, and is put together where it is read."""

"""Watches: what became of stored pages since an earlier run, told to those who want to know."""

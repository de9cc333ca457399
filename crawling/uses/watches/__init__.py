"""Watches: changes of stored pages since an earlier run, with alerts."""

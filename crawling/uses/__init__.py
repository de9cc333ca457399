"""The uses of crawls. Each folder is a Django app with its own tables, jobs, pages, JSON, command,
templates and rules. No module outside imports a use, and a use imports no other use.
"""

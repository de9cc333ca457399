"""The code that views and endpoints of all packages share: permissions, fields of forms, lists by
pages, rows as files, and live pages.
"""

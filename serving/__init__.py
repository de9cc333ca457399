"""The code that views and endpoints of every package share: permissions, questions of fields, lists
by pages, rows as files, and live pages.
"""

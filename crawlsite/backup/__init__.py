"""The whole installation in a directory, and from it again: every row of one moment, and the
archive's files as far as they were then.
"""

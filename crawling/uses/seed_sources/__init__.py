"""Folders and feeds that give crawls seeds. They are stored, read at intervals, and their addresses
added.
"""

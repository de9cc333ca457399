"""Folders and feeds that give crawls seeds. They are read at intervals, and the addresses in them
are added.
"""

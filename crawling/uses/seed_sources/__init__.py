"""Folders and feeds that give crawls seeds: kept, read at intervals, added."""

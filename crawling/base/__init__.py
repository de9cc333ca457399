"""The foundation of all rooms of the crawler: errors, the activity log, files and encrypted
text.
"""

"""The ground of all rooms of the crawler: errors, the activity log, files, encrypted text."""

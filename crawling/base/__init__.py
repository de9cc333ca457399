"""What each room of the crawler stands on: errors, the activity log, files, encrypted text."""

"""Answers about foreign documents that operators ask for, made by background jobs."""

"""Answers about foreign documents that operators request and background jobs find."""

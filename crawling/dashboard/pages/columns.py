"""The columns of a list of pages."""

#: key and head of those that somebody may hide; what was fetched, and its status, always show
HIDEABLE = {"type": "Type", "size": "Size", "fetched": "Fetched"}

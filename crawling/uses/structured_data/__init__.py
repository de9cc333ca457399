"""The structured data of pages, as a list and as files."""

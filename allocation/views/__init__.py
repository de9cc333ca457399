"""The bank's pages."""

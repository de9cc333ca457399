"""The crawl pages."""

"""The JSON of a single crawl."""

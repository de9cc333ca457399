"""The JSON of one crawl."""

"""Parts of a crawl's order. Each has the fields about one subject."""

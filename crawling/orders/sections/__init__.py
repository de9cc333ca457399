"""Parts of a crawl's order, each with the fields of one subject."""

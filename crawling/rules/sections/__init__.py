"""Parts of a crawl's order that stand for themselves."""

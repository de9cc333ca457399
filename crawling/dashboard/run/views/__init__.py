"""The pages of a single crawl."""

"""The pages of one crawl."""

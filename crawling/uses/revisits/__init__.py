"""The times at which the pages of a crawl are visited again, by their change rates."""

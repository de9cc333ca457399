"""How fresh the pages of a crawl are expected to be, and when each is visited again."""

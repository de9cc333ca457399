"""When the pages of a crawl are visited again, by how often they change."""

"""Which URLs belong to a crawl, as rules without a database."""

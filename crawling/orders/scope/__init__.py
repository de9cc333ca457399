"""The decision which URLs belong to a crawl, as rules without a database."""

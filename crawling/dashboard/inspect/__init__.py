"""The reasons why a URL was fetched or not."""

"""A protocol, a content type and an order of visits for crawlsite."""

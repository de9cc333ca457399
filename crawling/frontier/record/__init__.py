"""What became of fetched URLs, on its way into the database."""

"""Results of fetched URLs, on their way into the database."""

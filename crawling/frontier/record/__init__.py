"""Write the results of fetched URLs into the database."""

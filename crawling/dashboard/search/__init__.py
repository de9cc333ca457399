"""The search of texts of all crawls."""

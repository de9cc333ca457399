"""Read a run's stored pages again for extraction rules, without fetching."""

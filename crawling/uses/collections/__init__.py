"""Collections: crawls and single stored pages under a name, shared and exported together."""

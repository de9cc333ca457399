"""The cache of names."""

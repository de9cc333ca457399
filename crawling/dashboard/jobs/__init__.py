"""The list of background jobs: page and JSON."""

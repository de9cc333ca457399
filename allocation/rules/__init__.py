"""The Banker's algorithm and rules derived from it, without a database."""

"""The Banker's algorithm and what follows from it, as rules without a database."""

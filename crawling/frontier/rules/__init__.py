"""The decisions of the frontier, as rules without a database."""

"""The frontier's decisions as rules without a database."""

"""The possible orders of an operator, as rules without a database."""

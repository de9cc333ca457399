"""The orders that an operator may give, as rules without a database."""

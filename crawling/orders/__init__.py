"""What an operator may order, as rules without a database."""

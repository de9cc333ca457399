"""Names, addresses, answers and packets of DNS, as rules without a network."""

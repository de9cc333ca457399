"""Rules for names, addresses, answers and packets of DNS, without a network."""

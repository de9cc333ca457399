"""A user's preferences of looks and behaviour: kept on the account, for every browser."""

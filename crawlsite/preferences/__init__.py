"""How somebody likes the pages to look and behave: kept on the account, for every browser."""

"""Rules, without a database, that say which orders an operator may give."""

"""Resources that many crawls share, granted by the Banker's algorithm (SEEDS A, P)."""

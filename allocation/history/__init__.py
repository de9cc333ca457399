"""A pool's past, read from its ledger. Writes nothing but its own checkpoints."""

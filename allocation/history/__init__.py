"""The past of a pool, read from its ledger. Nothing is written except checkpoints of the ledger."""

"""Changes of the waiting URLs of a run, by operators, orders and checkpoints."""

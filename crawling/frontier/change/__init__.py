"""Changes of what waits in a run's frontier, by operators, orders and checkpoints."""

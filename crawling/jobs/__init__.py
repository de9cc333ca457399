"""Background jobs: their queues, their turns, and what they hold of the pool meanwhile."""

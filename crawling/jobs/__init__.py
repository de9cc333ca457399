"""Background jobs: their queues, their turns, and the units of the pool that they hold while they
work.
"""

"""The scheduler asks for checkpoints of runs at work."""

from crawling.uses.checkpoints.jobs import ask_for_due

DUTIES = ((ask_for_due, 30.0),)

"""Listeners, and the alerts that they receive."""

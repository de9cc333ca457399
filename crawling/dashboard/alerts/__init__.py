"""Alerts and their listeners."""

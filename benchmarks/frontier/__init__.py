"""Measurements of the frontier."""

"""Measurements of the dashboard's pages."""

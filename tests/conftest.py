"""Fixtures that every app's tests share."""

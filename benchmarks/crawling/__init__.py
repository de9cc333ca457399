"""Crawls, and what is made of their pages."""
